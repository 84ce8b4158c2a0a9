"""What a posterior file holds, as plain arrays: one sample axis, every effect there (zero where it was left out)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from drift.errors import DriftError
from drift.estimands.quadrature import Floats

Ints = NDArray[np.int64]
SAMPLE = ("chain", "draw")
GRID = ("model", "domain")


class NoDomainError(DriftError):
    """A result by domain was asked of a study that has no domains."""


class NoTermError(DriftError):
    """A result was asked of a term that the card does not have."""


@dataclass(frozen=True)
class Design:
    """The levels of a study. Labels as text; `question_domain` (question,) and `centred_in` (question,) are codes.

    `centred_in`: the set of questions within which question effects add to zero (a domain, or all of them).
    `has_domains` is False where the study declared none: there is then one domain that holds everything.
    """

    models: tuple[str, ...]
    domains: tuple[str, ...]
    questions: tuple[str, ...]
    participants: tuple[str, ...]
    question_domain: Ints
    centred_in: Ints
    has_domains: bool
    seed: int

    @property
    def questions_a_domain(self) -> Floats:
        return np.bincount(self.question_domain, minlength=len(self.domains)).astype(np.float64)

    @property
    def questions_a_set(self) -> Floats:
        return np.bincount(self.centred_in).astype(np.float64)

    def domain_weights(self, weighting: str) -> Floats:
        """(domain,), adding to 1: shares of the questions for "question", equal for "domain"."""
        if weighting == "domain":
            return np.full(len(self.domains), 1.0 / len(self.domains))
        return self.questions_a_domain / self.questions_a_domain.sum()


@dataclass(frozen=True)
class Ordinal:
    """Draws of an ordinal card in logits, larger = better rating. Leading axis: chain x draw.

    base: (sample, model, domain), the sum of model, domain and model x domain. question: (sample, question).
    model_question: (sample, model, question) or None. participant: (sample, participant) or None.
    cutpoints: (sample, K - 1). sd_model_question: (sample, model), each model's own, zero where the term was left out.
    sds: (sample,) of question and participant; zero where left out, None where the card fixes it and the file lacks it.
    """

    design: Design
    base: Floats
    question: Floats
    model_question: Floats | None
    participant: Floats | None
    cutpoints: Floats
    sd_model_question: Floats
    sds: Mapping[str, Floats | None]

    def sd(self, term: str) -> Floats:
        """(sample,) standard deviation of question or participant effects. Raises `NoTermError`."""
        return _known(self.sds[term], term)


@dataclass(frozen=True)
class CellMeans:
    """Draws of the cell-means card in percent of deviation, larger = worse. Leading axis: chain x draw.

    base: (sample, model, domain), intercept included. question: (sample, question). observed: (model, question), NaN
    where there is no cell. noise_low, noise_high: (model, question), bounds of the variance of a cell's rating noise,
    which is noise_low + noise_share (noise_high - noise_low); noise_share: (sample,). sd_residual: (sample, model).
    """

    design: Design
    base: Floats
    question: Floats
    observed: Floats
    noise_low: Floats
    noise_high: Floats
    noise_share: Floats
    sd_residual: Floats
    sds: Mapping[str, Floats | None]

    def sd(self, term: str) -> Floats:
        """(sample,) standard deviation of question effects, percentage points. Raises `NoTermError`."""
        return _known(self.sds[term], term)


def is_ordinal(tree: xr.DataTree) -> bool:
    """Whether the posterior is of an ordinal card (it has cutpoints) rather than of the cell-means card."""
    return "cutpoints" in tree["posterior"].data_vars


def read_design(tree: xr.DataTree) -> Design:
    """The levels behind a posterior. Without questions, each domain counts as one question."""
    data, posterior = tree["constant_data"].to_dataset(), tree["posterior"].to_dataset()
    domains = _labels(data, "domain")
    questions = _labels(data, "question") or domains or ("all",)
    by_question = _question_domain(data, len(questions)) if domains else np.zeros(len(questions), np.int64)
    within_domain = "domain_effect" in posterior  # else question effects add to zero over all questions
    return Design(
        models=_labels(data, "model"),
        domains=domains or ("all",),
        questions=questions,
        participants=_labels(data, "participant"),
        question_domain=by_question,
        centred_in=by_question if within_domain else np.zeros_like(by_question),
        has_domains=bool(domains),
        seed=int(tree.attrs["seed"]),
    )


def read_ordinal(tree: xr.DataTree) -> Ordinal:
    """Plain arrays of an ordinal posterior. Raises `NoTermError` for the cell-means card."""
    if not is_ordinal(tree):
        raise NoTermError("the cell-means card has no ratings, so nothing on the latent scale: fit an ordinal card")
    posterior, design = tree["posterior"].to_dataset(), read_design(tree)
    own_spread = _draws(posterior, "sd_model_question", "model")
    return Ordinal(
        design=design,
        base=_base(posterior, design),
        question=_question(posterior, design),
        model_question=_draws(posterior, "model_question_effect", "model", "question"),
        participant=_draws(posterior, "participant_effect", "participant"),
        cutpoints=_present(_draws(posterior, "cutpoints", "cutpoint")),
        sd_model_question=np.zeros((_n_samples(posterior), len(design.models))) if own_spread is None else own_spread,
        sds={term: _sd(posterior, term) for term in ("question", "participant")},
    )


def read_cell_means(tree: xr.DataTree) -> CellMeans:
    """Plain arrays of a cell-means posterior."""
    posterior, design = tree["posterior"].to_dataset(), read_design(tree)
    data, observed = tree["constant_data"].to_dataset(), tree["observed_data"].to_dataset()
    return CellMeans(
        design=design,
        base=_base(posterior, design),
        question=_question(posterior, design),
        observed=_by_cell(data, observed["deviation"].values, design),
        noise_low=_by_cell(data, data["noise_low"].values, design),
        noise_high=_by_cell(data, data["noise_high"].values, design),
        noise_share=_present(_draws(posterior, "noise_share")),
        sd_residual=_present(_draws(posterior, "sd_residual", "model")),
        sds={"question": _sd(posterior, "question")},
    )


def _labels(data: xr.Dataset, dim: str) -> tuple[str, ...]:
    return tuple(str(label) for label in data[dim].values) if dim in data.coords else ()


def _question_domain(data: xr.Dataset, n_questions: int) -> Ints:
    """(question,) domain codes; where the study has no questions, one a domain."""
    return np.asarray(data["question_domain"].values if "question_domain" in data else np.arange(n_questions), np.int64)


def _n_samples(posterior: xr.Dataset) -> int:
    return posterior.sizes["chain"] * posterior.sizes["draw"]


def _draws(posterior: xr.Dataset, name: str, *dims: str) -> Floats | None:
    """(sample, *dims) float64 draws of a variable; None where the card left it out."""
    if name not in posterior:
        return None
    found = posterior[name].transpose(*SAMPLE, *dims)
    return np.ascontiguousarray(found.values, dtype=np.float64).reshape(_n_samples(posterior), *found.shape[2:])


def _present(draws: Floats | None) -> Floats:
    assert draws is not None
    return draws


def _question(posterior: xr.Dataset, design: Design) -> Floats:
    """(sample, question) effects; zero where the card left them out."""
    found = _draws(posterior, "question_effect", "question")
    return np.zeros((_n_samples(posterior), len(design.questions))) if found is None else found


def _base(posterior: xr.Dataset, design: Design) -> Floats:
    """(sample, model, domain) sum of the terms that do not depend on the question."""
    base = np.zeros((_n_samples(posterior), len(design.models), len(design.domains)))
    for name, dims in (
        ("intercept", ()),
        ("model_effect", GRID[:1]),
        ("domain_effect", GRID[1:]),
        ("model_domain_effect", GRID),
    ):
        draws = _draws(posterior, name, *dims)
        if draws is not None:
            base += draws.reshape(
                len(base), *(n if dim in dims else 1 for dim, n in zip(GRID, base.shape[1:], strict=True))
            )
    return base


def _sd(posterior: xr.Dataset, term: str) -> Floats | None:
    """(sample,) standard deviation of a random effect; zero where the effect was left out, None if not stored."""
    left_out = f"{term}_effect" not in posterior
    return np.zeros(_n_samples(posterior)) if left_out else _draws(posterior, f"sd_{term}")


def _known(sd: Floats | None, term: str) -> Floats:
    if sd is None:
        raise NoTermError(
            f"the posterior has {term} effects but no sd_{term}: their spread is fixed by the card, so nothing can be "
            'said about new ones. Declare "these", or use a card that estimates it'
        )
    return sd


def _by_cell(data: xr.Dataset, values: Floats, design: Design) -> Floats:
    """(model, question) from (cell,); NaN where there is no cell."""
    found = np.full((len(design.models), len(design.questions)), np.nan)
    found[data["model_index"].values, data["question_index"].values] = values
    return found
