"""Declared contrasts between sets of models: percentage points of deviation, and an effect size on the latent scale."""

import math
from collections.abc import Sequence

import numpy as np
import xarray as xr

from drift.data.declaration import Contrast, Target
from drift.errors import UnknownLevelError
from drift.estimands.deviation import deviation
from drift.estimands.population import latent_means
from drift.estimands.quadrature import Floats
from drift.estimands.summary import ROWS, By, IntervalKind, n_rows, probability, summarise
from drift.estimands.terms import SAMPLE, Design, is_ordinal, read_design, read_ordinal

LOGISTIC_SD = math.pi / math.sqrt(3.0)  # sd of a standard logistic residual


def contrast_draws(tree: xr.DataTree, target: Target, contrasts: Sequence[Contrast]) -> xr.Dataset:
    """Draws of every contrast, dims (chain, draw, contrast), with coordinate `n_rows` (rows of the models in it).

    `difference`: mean deviation of the treatment models minus that of the comparator models, percentage points;
    negative when the treatment is better. `effect_size` (ordinal cards only): the same on the latent scale, the
    comparator's linear predictor minus the treatment's over the residual sd pi / sqrt(3): of the same sign.
    A contrast with a domain is taken within it, one without is weighted over domains as `target` says.
    Raises `UnknownLevelError` naming every model or domain that the posterior does not have.
    """
    design = read_design(tree)
    _check(design, contrasts)
    weights = np.stack([_weights(design, contrast, target.weighting) for contrast in contrasts])
    by: By = "model_domain" if design.has_domains else "model"
    draws = deviation(tree, target, by).transpose(*SAMPLE, "model", ...)
    values = draws.values.reshape(-1, len(design.models), len(design.domains))
    found = {"difference": _applied(weights, values)}
    if is_ordinal(tree):
        found["effect_size"] = -_applied(weights, latent_means(read_ordinal(tree), target)) / LOGISTIC_SD
    return _labelled(tree, draws, found, contrasts, weights)


def contrast_table(draws: xr.Dataset, *, ci_prob: float, ci_kind: IntervalKind) -> xr.Dataset:
    """Summary of `contrast_draws`, dim contrast.

    mean, sd, ... of the difference in percentage points; `below_zero` = P(difference < 0) with `below_zero_mcse`; for
    ordinal cards the same of the effect size, as `effect_size_mean`, `effect_size_lower`, ...
    """
    table = summarise(draws["difference"], ci_prob=ci_prob, ci_kind=ci_kind)
    below = probability(draws["difference"] < 0.0)
    table = table.assign(below_zero=below["probability"], below_zero_mcse=below["mcse"])
    if "effect_size" not in draws:
        return table
    size = summarise(draws["effect_size"], ci_prob=ci_prob, ci_kind=ci_kind).drop_vars(ROWS, errors="ignore")
    return table.assign({f"effect_size_{name}": value for name, value in size.data_vars.items()})


def _weights(design: Design, contrast: Contrast, weighting: str) -> Floats:
    """(model, domain) weights: the treatment's add to 1, the comparator's to -1."""
    models = np.array([
        (name in contrast.treatment) / len(contrast.treatment)
        - (name in contrast.comparator) / len(contrast.comparator)
        for name in design.models
    ])  # fmt: skip
    if contrast.domain is None:
        return np.outer(models, design.domain_weights(weighting))
    return np.outer(models, [float(name == contrast.domain) for name in design.domains])


def _applied(weights: Floats, values: Floats) -> Floats:
    """(sample, contrast) from (contrast, model, domain) and (sample, model, domain)."""
    return values.reshape(len(values), -1) @ weights.reshape(len(weights), -1).T


def _labelled(
    tree: xr.DataTree, draws: xr.DataArray, found: dict[str, Floats], contrasts: Sequence[Contrast], weights: Floats
) -> xr.Dataset:
    shape = (draws.sizes["chain"], draws.sizes["draw"], len(contrasts))
    rows = n_rows(tree, "model_domain" if "domain" in draws.dims else "model").values.reshape(weights.shape[1:])
    coords = {
        "chain": draws["chain"].values,
        "draw": draws["draw"].values,
        "contrast": [contrast.name for contrast in contrasts],
        ROWS: ("contrast", ((weights != 0.0) * rows).sum(axis=(1, 2))),
    }
    variables = {name: ((*SAMPLE, "contrast"), value.reshape(shape)) for name, value in found.items()}
    attrs = {name: draws.attrs[name] for name in ("questions", "participants", "weighting")}
    return xr.Dataset(variables, coords, attrs)


def _check(design: Design, contrasts: Sequence[Contrast]) -> None:
    problems: list[tuple[int | None, str]] = []
    for contrast in contrasts:
        if not contrast.treatment or not contrast.comparator:
            problems.append((None, f"contrast {contrast.name!r}: treatment and comparator each need a model"))
        unknown = [name for name in (*contrast.treatment, *contrast.comparator) if name not in design.models]
        problems += [(None, f"contrast {contrast.name!r}: no model is called {name!r}") for name in unknown]
        if contrast.domain is not None and contrast.domain not in (design.domains if design.has_domains else ()):
            problems.append((None, f"contrast {contrast.name!r}: no domain is called {contrast.domain!r}"))
    if problems:
        headline = f"{len(problems)} problem{'s' * (len(problems) > 1)} with the contrasts"
        raise UnknownLevelError("study", headline, problems, advice="models: " + ", ".join(design.models))
