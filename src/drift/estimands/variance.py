"""Where the variance of a rating comes from, and how reliable one rating is. Shares of 1, per draw."""

import math
from typing import Literal

import numba
import numpy as np
import xarray as xr

from drift.estimands.kernel import bounded_exp
from drift.estimands.population import new_question_sd
from drift.estimands.quadrature import LEAST_WEIGHT, Floats, n_nodes_for, normal_nodes
from drift.estimands.terms import SAMPLE, Ordinal, read_ordinal

Scale = Literal["latent", "response"]
RESIDUAL = math.pi**2 / 3.0  # variance of a standard logistic
DIGITS_OF_SHARES = 5.0
FEWEST_OF_TWO, MOST_OF_TWO = 11, 61  # nodes a dimension of a double integral; enough for 4 logits
FIXED = ("model", "domain", "model:domain")
RANDOM = ("question", "model:question", "participant")
LATENT_TERMS = (*FIXED, *RANDOM, "residual")
RESPONSE_TERMS = (*FIXED, *RANDOM, "interaction", "residual")


def variance_shares(tree: xr.DataTree, scale: Scale = "latent") -> xr.DataArray:
    """Draws of variance shares, dims (chain, draw, term), adding to 1 over terms. Ordinal cards only (`NoTermError`).

    The rating is one of a model in the study (equal chances), a domain in the study (by its number of questions), a new
    question and a new participant. model, domain and model:domain are finite-population variances (mean squares over
    the levels, re-centred with those weights); question and participant are sd^2; model:question is the mean over
    models of their own sd^2.
    "latent": linear predictor plus a logistic residual of variance pi^2/3. "response": the score itself, by the law of
    total variance: variances of conditional means of one factor at a time, model:domain beyond its two main effects,
    `residual` = E Var(score | predictor), `interaction` = what curvature leaves over. There model:question is the mean
    over models of Var E(score | model, z) for z the model's own answer to the question, standardised: its first-order
    share given the model, which is the latent one where the score is linear.
    """
    terms = read_ordinal(tree)
    parts = latent_variances(terms) if scale == "latent" else response_variances(terms)[0]
    names = LATENT_TERMS if scale == "latent" else RESPONSE_TERMS
    return _labelled(tree, parts / parts.sum(axis=1, keepdims=True), "term", names, "variance share", scale)


def icc(tree: xr.DataTree, scale: Scale = "latent") -> xr.DataArray:
    """Draws of the intraclass correlation of single ratings of a response (model x question), dims (chain, draw, icc).

    "agreement" = cells / (cells + participant + residual), as ICC(A,1); "consistency" leaves participants' leniency out
    of the denominator, as ICC(C,1) (mcgraw1996). Cells: everything that belongs to the response. On the response scale
    cells is Var E(score | response), and the denominators are all variance with and without the participant's own.
    """
    terms = read_ordinal(tree)
    cells, participant, total = _latent_parts(terms) if scale == "latent" else _response_parts(terms)
    values = np.stack([cells / total, cells / (total - participant)], axis=1)
    return _labelled(tree, values, "icc", ("agreement", "consistency"), "icc", scale)


def latent_variances(terms: Ordinal) -> Floats:
    """(sample, term) variances in squared logits, in the order of LATENT_TERMS."""
    fixed = grid_variances(terms.base, terms.design.domain_weights("question"))
    own = (terms.sd_model_question**2).mean(axis=1)
    random = np.stack([terms.sd("question") ** 2, own, terms.sd("participant") ** 2], axis=1)
    return np.concatenate([fixed, random, np.full((len(fixed), 1), RESIDUAL)], axis=1)


def grid_variances(grid: Floats, weight: Floats) -> Floats:
    """(sample, 3): variance of the row means, of the column means, and the rest, of a (sample, model, domain) grid.

    Models count alike, domains by `weight` (domain,).
    """
    mean = (grid @ weight).mean(axis=1)
    rows, columns = grid @ weight - mean[:, None], grid.mean(axis=1) - mean[:, None]
    rest = grid - mean[:, None, None] - rows[:, :, None] - columns[:, None, :]
    return np.stack([(rows**2).mean(axis=1), columns**2 @ weight, (rest**2 @ weight).mean(axis=1)], axis=1)


def response_variances(terms: Ordinal) -> tuple[Floats, Floats]:
    """Variances of the label's code: (sample, term) as RESPONSE_TERMS, and (sample,) Var E(code | response)."""
    weight, response = terms.design.domain_weights("question"), new_question_sd(terms)
    question, participant = (
        np.broadcast_to(terms.sd(name)[:, None], response.shape) for name in ("question", "participant")
    )
    sds = np.stack([question, terms.sd_model_question, participant, response], axis=2)
    sd_all = np.hypot(response, participant)
    z, w = normal_nodes(min(n_nodes_for(float(sd_all.max()), DIGITS_OF_SHARES, FEWEST_OF_TWO), MOST_OF_TWO))
    grid, square, predictor_square = _moments(terms.base, weight, terms.cutpoints, sd_all, z, w)
    alone, in_model, in_cell = _squared_means(terms.base, weight, terms.cutpoints, sds, sd_all, z, w)
    by_model = grid @ weight
    mean_square = by_model.mean(axis=1) ** 2
    own = in_model[:, 1] - (by_model**2).mean(axis=1)
    random = np.maximum(np.stack([alone[:, 0] - mean_square, own, alone[:, 2] - mean_square], axis=1), 0.0)  # rounding
    residual = square - predictor_square
    first_order = np.concatenate([grid_variances(grid, weight), random], axis=1)
    left_over = predictor_square - mean_square - first_order.sum(axis=1)
    return np.column_stack([first_order, left_over, residual]), in_cell[:, 3] - mean_square


@numba.njit(cache=True, nogil=True)
def _moments(base, weight, cutpoints, sd_all, z, w):  # type: ignore[no-untyped-def]  # compiled
    """grid: (sample, model, domain) E(code | model, domain). (sample,) each: E code^2 and E E(code | eta)^2."""
    n_models = base.shape[1]
    grid, square, predictor_square = np.zeros(base.shape), np.zeros(len(base)), np.zeros(len(base))
    for s, m, d in np.ndindex(base.shape):
        for i in range(z.size):
            eta = base[s, m, d] + sd_all[s, m] * z[i]
            code, code_square = 0.0, 0.0
            for k in range(cutpoints.shape[1]):
                above = 1.0 / (1.0 + np.exp(cutpoints[s, k] - eta))
                code += above
                code_square += (2 * k + 1) * above
            share = w[i] * weight[d] / n_models
            grid[s, m, d] += w[i] * code
            square[s] += share * code_square
            predictor_square[s] += share * code * code
    return grid, square, predictor_square


@numba.njit(cache=True, nogil=True)
def _squared_means(base, weight, cutpoints, sds, sd_all, z, w):  # type: ignore[no-untyped-def]  # compiled
    """(sample, factor) each: E of E(code | factor)^2, E(code | factor, model)^2, E(code | factor, model, domain)^2.

    The factors are normal with sds (sample, model, factor), of which only one is given at a time.
    """
    (n_models, n_domains), n = base.shape[1:], z.size
    shape = (base.shape[0], sds.shape[2])
    alone, in_model, in_cell = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    first, last = _pairs_that_count(w)
    odds, given_cell = np.empty(n * n_domains), np.empty(n * n_domains)  # domain within node of the factor
    for s, f in np.ndindex(shape):
        given = np.zeros(n)
        for m in range(n_models):
            for i in range(n):
                for d in range(n_domains):
                    odds[i * n_domains + d] = bounded_exp(-base[s, m, d] - sds[s, m, f] * z[i])
            rest = np.sqrt(max(sd_all[s, m] ** 2 - sds[s, m, f] ** 2, 0.0))
            given_cell[:] = 0.0
            for j in range(n):
                here = slice(first[j] * n_domains, last[j] * n_domains)
                _add_codes(cutpoints[s], rest * z[j], w[j], odds[here], given_cell[here])
            for i in range(n):
                given_model = 0.0
                for d in range(n_domains):
                    value = given_cell[i * n_domains + d]
                    given_model += weight[d] * value
                    in_cell[s, f] += w[i] * weight[d] / n_models * value * value
                given[i] += given_model / n_models
                in_model[s, f] += w[i] / n_models * given_model * given_model
        alone[s, f] = (w * given**2).sum()
    return alone, in_model, in_cell


@numba.njit(cache=True, nogil=True)
def _pairs_that_count(w):  # type: ignore[no-untyped-def]  # compiled
    """For each inner node the outer ones, first to before last, with which its weight is more than `LEAST_WEIGHT`."""
    first, last = np.zeros(w.size, np.int64), np.zeros(w.size, np.int64)
    for j in range(w.size):
        counts = np.flatnonzero(w * w[j] > LEAST_WEIGHT)
        if counts.size > 0:
            first[j], last[j] = counts[0], counts[-1] + 1
    return first, last


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _add_codes(cutpoints, shift, weight, odds, out):  # type: ignore[no-untyped-def]  # compiled
    """Add weight E(code) at every predictor x + shift, odds = exp(-x). Two cutpoints share a division.

    1 / (1 + a) + 1 / (1 + b) = (2 + a + b) / (1 + a + b + a b)
    """
    n = cutpoints.size
    for k in range(0, n - 1, 2):
        one, two = bounded_exp(cutpoints[k] - shift), bounded_exp(cutpoints[k + 1] - shift)
        both, product = one + two, one * two
        for i in range(odds.size):
            linear = both * odds[i]
            out[i] += weight * (2.0 + linear) / (1.0 + linear + product * odds[i] * odds[i])
    if n % 2 == 1:
        one = bounded_exp(cutpoints[n - 1] - shift)
        for i in range(odds.size):
            out[i] += weight / (1.0 + one * odds[i])


def _latent_parts(terms: Ordinal) -> tuple[Floats, Floats, Floats]:
    """(sample,) variances of cells, participant and all."""
    parts = latent_variances(terms)
    return parts[:, :5].sum(axis=1), parts[:, 5], parts.sum(axis=1)


def _response_parts(terms: Ordinal) -> tuple[Floats, Floats, Floats]:
    parts, cells = response_variances(terms)
    return cells, parts[:, 5], parts.sum(axis=1)


def _labelled(
    tree: xr.DataTree, values: Floats, dim: str, labels: tuple[str, ...], name: str, scale: str
) -> xr.DataArray:
    posterior = tree["posterior"]
    coords = {"chain": posterior["chain"].values, "draw": posterior["draw"].values, dim: list(labels)}
    shape = (posterior.sizes["chain"], posterior.sizes["draw"], len(labels))
    rows = int(tree["constant_data"]["model_index"].size)
    found = xr.DataArray(values.reshape(shape), coords, [*SAMPLE, dim], name=name, attrs={"scale": scale})
    return found.assign_coords(n_rows=rows)
