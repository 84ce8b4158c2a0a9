"""The parts of contrast cards that come from draws: one posterior, its prior and its variants, each read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr

from drift.conclusions.contrast_parts import (
    ArmPart,
    BiasPart,
    BoundsPart,
    ContrastPart,
    Estimate,
    SameKeyPart,
    SensitivityPart,
)
from drift.data.labels import Labels
from drift.data.scorer_declaration import Prevalence, ScorerContrast, ScorerStudy, ScorerTarget
from drift.estimands.error_rates import error_rates, inverted_probability, stratum_error_rates
from drift.estimands.identification import Identification, Setting, identification, setting_of
from drift.estimands.label_bounds import contrast_bounds
from drift.estimands.prevalence import arm_draws, target_shares
from drift.estimands.rater_agreement import model_agreement
from drift.estimands.scored import Scored, prior_scored, scored, variants
from drift.estimands.scorer_contrasts import contrast_draws, same_key_draws, same_key_pairs
from drift.estimands.summary import summarise
from drift.scale import FloatArray

CI_PROB = 0.95
PREVALENCES: tuple[Prevalence, ...] = ("panel", "superpopulation", "new-keys")
ITSELF = "the model itself"
TRUTH_IS = "truth_is_"


@dataclass(frozen=True)
class Variant:
    """Another assumption: what differs, in words, and its draws of every contrast; None where its checks failed."""

    name: str
    title: str
    draws: xr.Dataset | None


@dataclass(frozen=True)
class Posterior:
    """A stored posterior of a scorer study, with what every card of it needs."""

    tree: xr.DataTree
    study: ScorerStudy

    @cached_property
    def labels(self) -> Labels:
        """The rows as they were coded."""
        return Labels.from_dataset(self.tree["constant_data"].to_dataset())

    @cached_property
    def scored(self) -> Scored:
        return scored(self.tree)

    @property
    def target(self) -> ScorerTarget:
        return self.study.target

    @property
    def reference(self) -> str | None:
        """The rater whom this posterior takes for the truth."""
        named = [name for name, true in zip(self.labels.raters, self.scored.reference, strict=True) if true]
        return named[0] if named else None

    @cached_property
    def contrasts(self) -> Mapping[Prevalence, xr.Dataset]:
        """Target -> draws of every declared contrast."""
        named = {kind: replace(self.target, prevalence=kind) for kind in PREVALENCES}
        return {kind: contrast_draws(self.scored, target, self.study.contrasts) for kind, target in named.items()}

    @property
    def declared(self) -> xr.Dataset:
        """Draws of every contrast for the declared target."""
        return self.contrasts[self.target.prevalence]

    @cached_property
    def prior_contrasts(self) -> xr.Dataset:
        return contrast_draws(self.prior, self.target, self.study.contrasts)

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """Every sensitivity variant in the file."""
        return tuple(self._variant(name, title) for name, title in variants(self.tree).items())

    @cached_property
    def rates(self) -> xr.Dataset:
        return error_rates(self.scored, self.target)

    @cached_property
    def stratum_rates(self) -> xr.Dataset:
        return stratum_error_rates(self.scored, self.target)

    @cached_property
    def inverted(self) -> xr.DataArray:
        """P(sensitivity + specificity < 1) by arm."""
        return inverted_probability(self.rates)["probability"]

    @cached_property
    def agreement(self) -> xr.Dataset:
        """Draws of the agreement of pairs of raters as the model has it."""
        return model_agreement(self.scored)

    @cached_property
    def identified(self) -> tuple[tuple[Setting, Identification], ...]:
        """What the data identify under the assumptions made, and, where raters err independently, if they did not."""
        setting = setting_of(self.scored)
        independent = len(setting.raters) > 1 and setting.reference is None and setting.dependence == "none"
        settings = [setting, replace(setting, dependence="raters")] if independent else [setting]
        return tuple((one, identification(one)) for one in settings)

    @cached_property
    def bounds(self) -> xr.DataArray:
        return contrast_bounds(self.scored, self.target, self.study.contrasts)

    @cached_property
    def arms(self) -> xr.Dataset:
        """Draws of truth, label and bias by arm of the target, proportions."""
        return _arm_shares(self.scored, self.target)

    @cached_property
    def prior_arms(self) -> xr.Dataset:
        return _arm_shares(self.prior, self.target)

    @cached_property
    def prior_rates(self) -> xr.Dataset:
        return error_rates(self.prior, self.target)

    @cached_property
    def prior(self) -> Scored:
        return prior_scored(self.tree)

    def _variant(self, name: str, title: str) -> Variant:
        if self.tree["variants"][name].attrs["checks_passed"] == "false":
            return Variant(name, title, None)
        return Variant(name, title, contrast_draws(scored(self.tree, name), self.target, self.study.contrasts))


def _arm_shares(of: Scored, target: ScorerTarget) -> xr.Dataset:
    shares = target_shares(of, target)
    values = {
        "truth": shares.truth,
        "label": shares.label,
        "bias": shares.false_positive - shares.false_negative,
    }
    return xr.Dataset({name: arm_draws(of, target, shares.arm, value, name) for name, value in values.items()})


def estimate(draws: xr.DataArray, scale: float = 1.0) -> Estimate:
    """Summary of (chain, draw) draws, multiplied by `scale`: 100 makes percentage points of proportions."""
    table = summarise(scale * draws, ci_prob=CI_PROB, ci_kind="eti", diagnostics=False)
    numbers = {name: float(table[name]) for name in ("mean", "sd", "lower", "upper", "mcse_mean")}
    mcse = numbers.pop("mcse_mean")
    return Estimate(**numbers, mcse=mcse if np.isfinite(mcse) else None)


def automatic_contrast(posterior: Posterior, contrast: ScorerContrast) -> float:
    """The contrast of the scorer's own labels in the panel, a proportion: the number that would be published."""
    return float(posterior.contrasts["panel"]["automatic"].sel(contrast=contrast.name).mean())


def contrast_parts(posterior: Posterior, contrast: ScorerContrast) -> tuple[ContrastPart, ...]:
    """The contrast for each of the three targets."""
    return tuple(
        ContrastPart(
            prevalence=kind,
            declared=kind == posterior.target.prevalence,
            automatic_pp=100.0 * float(draws["automatic"].mean()),
            corrected_pp=estimate(draws["corrected"], 100.0),
            **_sides(draws["corrected"]),
        )
        for kind, all_draws in posterior.contrasts.items()
        for draws in [all_draws.sel(contrast=contrast.name)]
    )


def same_key_parts(posterior: Posterior, contrast: ScorerContrast) -> tuple[SameKeyPart, ...]:
    """The contrast on identical keys, these and new ones; nothing where no key is in both arms."""
    pairs = same_key_pairs(posterior.scored, posterior.target, contrast)
    if not pairs.n_pairs:
        return ()
    found = []
    for new in (False, True):
        draws = same_key_draws(posterior.scored, posterior.target, [contrast], new=new).isel(contrast=0)
        part = SameKeyPart(
            keys="new" if new else "these",
            n_pairs=pairs.n_pairs,
            n_keys=pairs.n_keys,
            covered=pairs.covered,
            automatic_pp=100.0 * float(draws["automatic"].mean()),
            corrected_pp=estimate(draws["corrected"], 100.0),
            bias_pp=estimate(draws["bias"], 100.0),
            **_sides(draws["corrected"]),
        )
        found.append(part)
    return tuple(found)


def _sides(corrected: xr.DataArray) -> dict[str, float]:
    return {"above_zero": float((corrected > 0).mean()), "below_zero": float((corrected < 0).mean())}


def bias_part(posterior: Posterior, contrast: ScorerContrast, within: float) -> BiasPart:
    """Contrast bias for the declared target and its split. `within`: P(|bias| < tolerance)."""
    draws = posterior.declared.sel(contrast=contrast.name)
    split = {f"from_{part}_pp": estimate(draws[f"bias_{part}"], 100.0) for part in ("fpr", "fnr", "prevalence")}
    defined = bool(np.isfinite(draws["attenuation"]).all())
    return BiasPart(
        bias_pp=estimate(draws["bias"], 100.0),
        tolerance_pp=contrast.tolerance_pp,
        within=within,
        **split,
        attenuation=estimate(draws["attenuation"]) if defined else None,
    )


def arm_parts(posterior: Posterior, contrast: ScorerContrast) -> tuple[ArmPart, ...]:
    """Treatment, comparator."""
    return tuple(
        ArmPart(
            arm=arm,
            automatic=float(posterior.arms["label"].sel(arm=arm).mean()),
            corrected=estimate(posterior.arms["truth"].sel(arm=arm)),
            bias_pp=estimate(posterior.arms["bias"].sel(arm=arm), 100.0),
            inverted=float(posterior.inverted.sel(arm=arm)),
        )
        for arm in (contrast.treatment, contrast.comparator)
    )


def bounds_parts(posterior: Posterior, contrast: ScorerContrast) -> tuple[BoundsPart, ...]:
    """Bounds without an assumption on how raters err."""
    lower, upper = (posterior.bounds.sel(contrast=contrast.name, bound=bound) for bound in ("lower", "upper"))
    assumption = "the truth is what all raters said of a row where they agree, and either where they differ"
    return (BoundsPart(estimate(lower, 100.0), estimate(upper, 100.0), assumption),)


def references(posterior: Posterior, contrast: ScorerContrast) -> dict[str, FloatArray | None]:
    """Reference -> (draw,) corrected contrast: the model itself, then each rater taken for the truth.

    None where that posterior failed its checks or is not in the file. A posterior that takes a rater for the truth by
    declaration has no other reference.
    """
    found: dict[str, FloatArray | None] = {ITSELF: _flat(posterior.declared, contrast)}
    if posterior.reference is not None:
        return found
    by_name = {variant.name: variant.draws for variant in posterior.variants}
    for place, rater in enumerate(posterior.labels.raters):
        if (posterior.labels.rating[:, place] >= 0).any():
            draws = by_name.get(f"{TRUTH_IS}{rater}")
            found[f"{rater} is the truth"] = None if draws is None else _flat(draws, contrast)
    return found


def _flat(draws: xr.Dataset, contrast: ScorerContrast, name: str = "corrected") -> FloatArray:
    """(draw,) of one contrast."""
    return np.asarray(draws[name].sel(contrast=contrast.name).values, dtype=np.float64).ravel()


def bias_draws(posterior: Posterior, contrast: ScorerContrast) -> FloatArray:
    """(draw,) contrast bias for the declared target, a proportion."""
    return _flat(posterior.declared, contrast, "bias")


def sensitivity_parts(posterior: Posterior, contrast: ScorerContrast, direction: int) -> tuple[SensitivityPart, ...]:
    """The model itself, then every variant. `direction`: sign of the automatic contrast."""
    rows = (Variant("", ITSELF, posterior.declared), *posterior.variants)
    return tuple(_sensitivity(row, contrast, direction) for row in rows)


def _sensitivity(row: Variant, contrast: ScorerContrast, direction: int) -> SensitivityPart:
    if row.draws is None:
        return SensitivityPart(row.name, row.title, True, None, None, None)
    draws = row.draws.sel(contrast=contrast.name)
    kept = float((np.sign(draws["corrected"]) * direction > 0).mean()) if direction else None
    return SensitivityPart(
        row.name, row.title, False, estimate(draws["corrected"], 100.0), kept, estimate(draws["bias"], 100.0)
    )
