"""What must not be concluded from a contrast card: each sentence follows from what the study declares."""

from drift.conclusions.disposition import Decision
from drift.data.scorer_declaration import Audit, ScorerContrast, ScorerStudy, ScorerTarget

REACH = {
    "panel": "these responses only: not other responses to these keys, other keys or other models",
    "superpopulation": "responses like these to these keys: not other keys or other models",
    "new-keys": "keys of the same kind as these: not other kinds of keys or other models",
}


def prohibited(study: ScorerStudy, contrast: ScorerContrast, decision: Decision) -> tuple[str, ...]:
    """The sentences, the gravest first."""
    return (
        *(_simulated() if study.simulated else ()),
        *(_barred(contrast) if decision in ("quarantine", "undecided") else ()),
        f"{contrast.treatment} against {contrast.comparator}, {study.outcome.name}: no other prompts, no other outcome",
        f"{REACH[study.target.prevalence]}{_population(study.target)}",
        _mixture(study.target),
        "nothing after a change of scorer, router, raters, models or prompts: audit again",
        "no error that all raters make in one arm only is excluded: no method here can see it",
        "neither the raters' agreement nor the scorer's overall accuracy supports this contrast",
        *(_routes() if study.columns.route else ()),
        *(_shares(audit) for audit in study.audits if audit.design == "stress"),
    )


def _simulated() -> tuple[str, ...]:
    return ("the data are simulated: nothing follows for any model or prompt",)


def _barred(contrast: ScorerContrast) -> tuple[str, ...]:
    return (f"no statement on {contrast.name}: neither its sign nor its size, automatic or corrected",)


def _population(target: ScorerTarget) -> str:
    return "" if target.population is None else f", and none outside {target.population!r}"


def _mixture(target: ScorerTarget) -> str:
    named = {"equal": "all models weighing the same", "rows": "every model weighing as its rows do"}
    how = named[target.models] if isinstance(target.models, str) else "the declared weights of models"
    return f"a mixture with {how}: no statement on one model or on another mixture"


def _routes() -> tuple[str, ...]:
    return ("errors by route describe what each route was given: they are no effect of choosing a route",)


def _shares(audit: Audit) -> str:
    on = ", ".join(audit.sampled_on) or "something unrecorded"
    return f"audit {audit.name} was sampled on {on}: its raw counts are no error rates of the target"
