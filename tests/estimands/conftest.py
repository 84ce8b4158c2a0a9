"""Synthetic posteriors with the layout of a fitted file: no sampler, a few hundred independent draws."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

Builder = Callable[..., xr.DataTree]


def centred(values, groups=None, axis=-1):
    """Zero-sum along an axis, within groups where given."""
    if groups is None:
        return values - values.mean(axis=axis, keepdims=True)
    found = values.copy()
    for group in np.unique(groups):
        found[..., groups == group] -= found[..., groups == group].mean(axis=-1, keepdims=True)
    return found


def ordinal_posterior(
    n_models=3,
    sizes=(3, 5),
    n_people=4,
    n_cuts=4,
    n_chains=2,
    n_draws=100,
    *,
    sd_question=0.8,
    sd_model_question=0.5,
    sd_participant=0.7,
    leave_out=(),
    seed=7,
    fixed=False,
    unit=1.0,
):
    """A posterior of an ordinal card. `sizes`: questions a domain. `fixed`: equal draws. `unit`: scale of effects.

    The models' spreads over questions rise evenly from half to one and a half `sd_model_question`.
    """
    rng = np.random.default_rng(seed)
    n_domains, n_questions, shape = len(sizes), sum(sizes), (n_chains, n_draws)
    domain_of = np.repeat(np.arange(n_domains), sizes)
    centred_in = np.zeros_like(domain_of) if "domain" in leave_out else domain_of
    own_sd = sd_model_question * np.linspace(0.5, 1.5, n_models)
    rows = np.array([(m, q, p) for m in range(n_models) for q in range(n_questions) for p in range(n_people)])

    def draws(*dims):
        around = rng.normal(size=dims) * unit
        return np.broadcast_to(around, (*shape, *dims)) + (
            0.0 if fixed else 0.1 * unit * rng.normal(size=(*shape, *dims))
        )

    def spread(sd):
        return np.broadcast_to(sd, (*shape, *np.shape(sd))) * (
            1.0 if fixed else np.exp(0.05 * rng.normal(size=(*shape, *np.shape(sd))))
        )

    variables = {
        "cutpoints": (("cutpoint",), np.sort(draws(n_cuts) * 1.5, axis=-1)),
        "model_effect": (("model",), centred(draws(n_models))),
        "domain_effect": (("domain",), centred(0.5 * draws(n_domains))),
        "model_domain_effect": (("model", "domain"), centred(centred(0.4 * draws(n_models, n_domains)), axis=2)),
        "question_effect": (("question",), centred(sd_question * draws(n_questions), centred_in)),
        "participant_effect": (("participant",), centred(sd_participant * draws(n_people))),
        "model_question_effect": (
            ("model", "question"),
            centred(own_sd[:, None] * draws(n_models, n_questions), centred_in),
        ),
        "sd_question": ((), spread(sd_question)),
        "sd_participant": ((), spread(sd_participant)),
        "sd_model_question": (("model",), spread(own_sd)),
    }
    coords = {
        "chain": np.arange(n_chains), "draw": np.arange(n_draws), "cutpoint": np.arange(n_cuts),
        "model": [f"model {m}" for m in range(n_models)], "domain": [f"domain {d}" for d in range(n_domains)],
        "question": [f"question {q}" for q in range(n_questions)],
        "participant": [f"person {p}" for p in range(n_people)],
    }  # fmt: skip
    left_out = {name for term in leave_out for name in (f"{term}_effect", f"sd_{term}")}
    kept = {name: value for name, value in variables.items() if name not in left_out}
    dims = {dim for names, _ in kept.values() for dim in names} | {"chain", "draw"}
    posterior = xr.Dataset(
        {name: (("chain", "draw", *names), value) for name, (names, value) in kept.items()},
        {name: coord for name, coord in coords.items() if name in dims},
    )
    constant = xr.Dataset(
        {
            "rating": ("row", rng.integers(0, n_cuts + 1, len(rows))),
            "model_index": ("row", rows[:, 0]), "question_index": ("row", rows[:, 1]),
            "participant_index": ("row", rows[:, 2]), "domain_index": ("row", domain_of[rows[:, 1]]),
            "question_domain": ("question", domain_of),
        },
        {name: coords[name] for name in ("model", "question", "participant", "domain")}
        | {"label": np.arange(n_cuts + 1)},
    )  # fmt: skip
    return tree(posterior, constant, seed)


def cell_posterior(
    n_models=3,
    sizes=(4, 6),
    n_chains=2,
    n_draws=200,
    *,
    sd_question=6.0,
    sd_residual=5.0,
    noise=3.0,
    seed=3,
    base=None,
    missing=(),
):
    """A posterior of the cell-means card; mean values `base` (model, domain) if given, each draw the same then.

    `noise`: sd of a cell's rating noise; its variance lies half way between the bounds.
    """
    rng = np.random.default_rng(seed)
    n_domains, n_questions, shape = len(sizes), sum(sizes), (n_chains, n_draws)
    domain_of = np.repeat(np.arange(n_domains), sizes)
    cells = np.array([(m, q) for m in range(n_models) for q in range(n_questions) if (m, q) not in missing])
    mean = 40.0 + 5.0 * rng.normal(size=(n_models, n_domains)) if base is None else np.asarray(base, float)
    intercept = mean.mean()
    model = mean.mean(axis=1) - intercept
    domain = mean.mean(axis=0) - intercept
    both = mean - intercept - model[:, None] - domain
    question = centred(sd_question * rng.normal(size=n_questions), domain_of)
    jitter = 0.0 if base is not None else 1.0
    sampled = {
        "intercept": ((), np.full(shape, intercept) + jitter * rng.normal(size=shape)),
        "model_effect": (("model",), np.broadcast_to(model, (*shape, n_models))),
        "domain_effect": (("domain",), np.broadcast_to(domain, (*shape, n_domains))),
        "model_domain_effect": (("model", "domain"), np.broadcast_to(both, (*shape, n_models, n_domains))),
        "question_effect": (("question",), np.broadcast_to(question, (*shape, n_questions))),
        "sd_question": ((), np.full(shape, sd_question)),
        "sd_residual": (("model",), np.full((*shape, n_models), sd_residual)),
        "noise_share": ((), np.full(shape, 0.5)),
    }
    observed = (
        mean[cells[:, 0], domain_of[cells[:, 1]]]
        + question[cells[:, 1]]
        + np.hypot(sd_residual, noise) * rng.normal(size=len(cells))
    )
    names = {
        "model": [f"model {m}" for m in range(n_models)],
        "domain": [f"domain {d}" for d in range(n_domains)],
        "question": [f"question {q}" for q in range(n_questions)],
    }
    posterior = xr.Dataset(
        {name: (("chain", "draw", *dims), value) for name, (dims, value) in sampled.items()},
        {"chain": np.arange(n_chains), "draw": np.arange(n_draws), **names},
    )
    constant = xr.Dataset(
        {
            "deviation": ("cell", observed),
            "noise_low": ("cell", np.full(len(cells), 0.5 * noise**2)),
            "noise_high": ("cell", np.full(len(cells), 1.5 * noise**2)),
            "model_index": ("cell", cells[:, 0]), "question_index": ("cell", cells[:, 1]),
            "domain_index": ("cell", domain_of[cells[:, 1]]), "question_domain": ("question", domain_of),
        },
        names,
    )  # fmt: skip
    return tree(posterior, constant, seed, card="cell-means")


def tree(posterior, constant, seed, card="ordinal-interaction"):
    observed = [name for name in ("rating", "deviation") if name in constant]
    found = xr.DataTree.from_dict(
        {"posterior": posterior, "observed_data": constant[observed], "constant_data": constant.drop_vars(observed)}
    )
    found.attrs = {"study_toml": "", "card": card, "seed": int(seed)}
    return found


@pytest.fixture(scope="session")
def make_ordinal() -> Builder:
    return ordinal_posterior


@pytest.fixture(scope="session")
def make_cells() -> Builder:
    return cell_posterior
