"""Expected deviation of each model for the declared target: percent of the scale, 0 the best label, 100 the worst."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from drift.data.declaration import Target
from drift.estimands.kernel import average_fraction
from drift.estimands.population import mixtures, question_offset, standard_normal
from drift.estimands.quadrature import Floats
from drift.estimands.summary import ROWS, By, n_rows
from drift.estimands.terms import (
    CellMeans,
    Design,
    NoDomainError,
    is_ordinal,
    read_cell_means,
    read_design,
    read_ordinal,
)


def deviation(tree: xr.DataTree, target: Target, by: By = "model") -> xr.DataArray:
    """Draws of expected deviation, dims (chain, draw, model[, domain]), percent; 0 is the best label, 100 the worst.

    "these" questions or participants are *all* levels in the data: each model is averaged over all of them, whether or
    not it met them (model-based standardisation), so an unbalanced design compares like with like. "new" ones are
    integrated over the normal population that the levels came from (Gauss-Hermite on the summed variances), whose mean
    is uncertain too: an offset per posterior draw, the same numbers whenever the same file is read.
    Weighting "question" gives each domain the weight of its number of questions in the data, "domain" equal weights.
    A card without a participant term (cell-means has none) answers the same for both kinds of participant.
    Coordinate `n_rows`: data rows of each model (x domain). Raises `NoDomainError` by domain where there are none.
    """
    design = read_design(tree)
    if by == "model_domain" and not design.has_domains:
        raise NoDomainError("this study has no domains: ask for results by model")
    draws = _ordinal(tree, target) if is_ordinal(tree) else _cell_means(tree, target)
    if by == "model":
        return labelled_draws(tree, draws @ design.domain_weights(target.weighting), target, by)
    return labelled_draws(tree, draws, target, by)


def labelled_draws(tree: xr.DataTree, draws: Floats, target: Target, by: By) -> xr.DataArray:
    """(sample, model[, domain]) draws with the posterior's labels, the target and the rows behind them."""
    posterior, rows = tree["posterior"], n_rows(tree, by)
    chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
    return xr.DataArray(
        draws.reshape(chains, n_draws, *draws.shape[1:]),
        {"chain": posterior["chain"].values, "draw": posterior["draw"].values, **rows.coords, ROWS: rows},
        ["chain", "draw", *rows.dims],
        name="deviation",
        attrs={
            "unit": "percent",
            "questions": target.questions,
            "participants": target.participants,
            "weighting": target.weighting,
        },
    )


def cell_values(terms: CellMeans) -> Iterator[Floats]:
    """For each model, (sample, question) draws of the true deviation of its cells, percent, noise of ratings removed.

    mu + u with u | y normal: mean r (y - mu), variance r noise^2, r = s^2 / (s^2 + noise^2), s = sd_residual of the
    model. A cell that was not observed has u ~ N(0, s^2).
    """
    for m, model in enumerate(terms.design.models):
        mean = terms.base[:, m, terms.design.question_domain] + terms.question
        yield mean + _residual(terms, m, model, mean)


def _ordinal(tree: xr.DataTree, target: Target) -> Floats:
    """(sample, model, domain) percent."""
    terms = read_ordinal(tree)
    questions, people = mixtures(terms, target)
    return 100.0 * average_fraction(
        questions.base, questions.level, questions.domain_of, questions.weight,
        people.level, people.weight, terms.cutpoints, interaction=questions.interaction, scale=questions.scale,
    )  # fmt: skip


def _cell_means(tree: xr.DataTree, target: Target) -> Floats:
    """(sample, model, domain) percent.

    For new questions only the question offset is added. A model's own answers need none: they are not centred here, the
    mean mu is that of their population already, and the posterior of mu holds the sd_residual^2 / n of these questions.
    """
    terms = read_cell_means(tree)
    if target.questions == "new":
        return terms.base + question_offset(terms)[:, None, :]
    return np.stack([_domain_means(values, terms.design) for values in cell_values(terms)], axis=1)


def _domain_means(values: Floats, design: Design) -> Floats:
    member = design.question_domain[:, None] == np.arange(len(design.domains))
    return np.asarray(values @ (member / design.questions_a_domain))


def _residual(terms: CellMeans, m: int, model: str, mean: Floats) -> Floats:
    """(sample, question) draws of u | y."""
    here, prior = terms.observed[m], terms.sd_residual[:, m, None] ** 2
    seen = np.isfinite(here)
    low, high = np.where(seen, terms.noise_low[m], 0.0), np.where(seen, terms.noise_high[m], 0.0)
    noise = low + terms.noise_share[:, None] * (high - low)
    share = np.divide(prior, prior + noise, out=np.zeros_like(noise), where=prior + noise > 0)
    centre = np.where(seen, share * (np.where(seen, here, 0.0) - mean), 0.0)
    variance = np.where(seen, share * noise, prior)
    z = np.stack(
        [standard_normal(terms.design, len(mean), "cell", model, name) for name in terms.design.questions], axis=1
    )
    return centre + np.sqrt(variance) * z
