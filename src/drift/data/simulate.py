"""Ratings simulated to agree with published cell means, for the raw ratings were never released (seed 000, Table S4).

Mode R shifts each cell until its 47 ratings sum to the published mean; mode Radd samples freely, with eta additive in
model and question for the eight ceiling models.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit

from drift.data.cells import Cells
from drift.data.recipe import (
    N_PARTICIPANTS,
    PARTICIPANT_SD,
    SEED,
    Truth,
    additive_recipe,
    published_cells,
    recipe,
    rest_sd,
)
from drift.errors import InputError
from drift.scale import FloatArray, IntArray

Mode = Literal["R", "Radd"]
Effects = Literal["recipe", "normal"]
BoolArray = NDArray[np.bool_]

SAFETY = "Safety"
REFUSALS = {"Claude": (19, 12), "Gemini": (20, 4), "Llama": (9, 3)}  # on safety questions, on others: 82 in all
OTHER_REFUSALS = (11, 4)  # of the seven models together


@dataclass(frozen=True)
class Simulation:
    """`table`: rater, item, system, domain, score (1 to 5), refused (0 or 1), a rating a row; `truth` behind it."""

    table: pd.DataFrame
    truth: Truth


def simulate_ratings(
    mode: Mode = "R",
    n_participants: int = N_PARTICIPANTS,
    n_questions: int = 62,
    n_models: int = 10,
    seed: int = SEED,
    *,
    models: Sequence[str] = (),
    effects: Effects = "recipe",
    interaction_sd: float = 0.0,
) -> pd.DataFrame:
    """The table of `simulate`, without the truth."""
    return simulate(
        mode, n_participants, n_questions, n_models, seed, models=models, effects=effects, interaction_sd=interaction_sd
    ).table


def simulate(
    mode: Mode = "R",
    n_participants: int = N_PARTICIPANTS,
    n_questions: int = 62,
    n_models: int = 10,
    seed: int = SEED,
    *,
    models: Sequence[str] = (),
    effects: Effects = "recipe",
    interaction_sd: float = 0.0,
) -> Simulation:
    """Simulated ratings and what generated them.

    Mode R is the whole design: 47 x 62 x 10 ratings, every cell sum as published, 82 refusals. Mode Radd takes any
    smaller size (questions drawn evenly from the domains, participants at random, the first `n_models` or the named
    `models`) and has no refusals. `effects="normal"` draws participants, questions and (with `interaction_sd` above 0)
    model:question effects afresh from normal distributions, so that a fitted model's sds have a true value.
    Raises `InputError` for a size or model that the recipe does not have.
    """
    cells = published_cells()
    names = _models(cells, n_models, models)
    _check_sizes(mode, effects, n_participants, n_questions, len(names), cells)
    if interaction_sd and effects != "normal":
        raise InputError("simulate", "an interaction sd needs normal effects", advice='use effects "normal"')
    rng = np.random.default_rng(seed)
    if mode == "R":
        return _exact(recipe(cells), rng)
    if effects == "normal":
        return _sampled(_drawn(additive_recipe(cells), rng, n_participants, n_questions, names, interaction_sd), rng)
    return _sampled(_subset(additive_recipe(cells), rng, n_participants, n_questions, names), rng)


def _subset(truth: Truth, rng: np.random.Generator, n_participants: int, n_questions: int, names: list[str]) -> Truth:
    """Some of the recipe's participants and questions, with their own effects."""
    person = np.sort(np.argsort(rng.random(len(truth.participants)))[:n_participants])
    question = _question_sample(truth.question_domain, rng, n_questions)
    return _chosen(truth, names, question, truth.participant[person], [truth.participants[place] for place in person])


def _drawn(
    truth: Truth,
    rng: np.random.Generator,
    n_participants: int,
    n_questions: int,
    names: list[str],
    interaction_sd: float,
) -> Truth:
    """Fresh participants and questions: the recipe's model x domain means, normal effects about them."""
    part = _chosen(truth, names, _question_sample(truth.question_domain, rng, n_questions), np.empty(0), [])
    question = truth.sd["question"] * rng.standard_normal(n_questions)
    rest = interaction_sd * rng.standard_normal(part.eta.shape)
    return replace(
        part,
        eta=part.model_domain[:, part.question_domain] + question + rest,
        question=question,
        participant=PARTICIPANT_SD * rng.standard_normal(n_participants),
        participants=tuple(f"P{place:02d}" for place in range(1, n_participants + 1)),
        sd={**truth.sd, "model:question": interaction_sd},
    )


def _chosen(
    truth: Truth, names: list[str], question: IntArray, participant: FloatArray, participants: list[str]
) -> Truth:
    """The truth for some models, questions and participants. Every domain keeps its place."""
    model = [truth.models.index(name) for name in names]
    part = replace(
        truth,
        models=tuple(names),
        questions=tuple(truth.questions[place] for place in question),
        participants=tuple(participants),
        question_domain=truth.question_domain[question],
        eta=truth.eta[np.ix_(model, question)],
        model_domain=truth.model_domain[model],
        question=truth.question[question],
        participant=participant,
    )
    return replace(part, sd={**truth.sd, "model:question": rest_sd(part)})


def _question_sample(domain: IntArray, rng: np.random.Generator, count: int) -> IntArray:
    """`count` questions, as evenly from the domains as their sizes allow, in the original order."""
    shuffled = pd.DataFrame({"domain": domain, "draw": rng.random(len(domain))}).sort_values("draw")
    turn = shuffled.groupby("domain").cumcount()
    order = shuffled.assign(turn=turn).sort_values(["turn", "draw"]).index.to_numpy()
    return np.sort(order[:count]).astype(np.int64)


def _sampled(truth: Truth, rng: np.random.Generator) -> Simulation:
    """Free sampling from the truth."""
    location = truth.eta[None] + truth.participant[:, None, None]
    score = 1 + (location + _logistic(rng, location.shape) > truth.cutpoints[:, None, None, None]).sum(axis=0)
    return Simulation(_table(truth, score, np.zeros(score.shape, dtype=bool)), truth)


def _exact(truth: Truth, rng: np.random.Generator) -> Simulation:
    """Refusals first, then each cell's location moved until its ratings sum to the published mean."""
    shape = (len(truth.participants), *truth.eta.shape)
    refused = _refusals(truth, rng)
    noise = truth.participant[:, None, None] + _logistic(rng, shape)
    needed = np.rint(len(truth.participants) * (5 - 4 * truth.deviation() / 100)).astype(np.int64) - shape[0]
    steps = np.where(refused, np.inf, truth.cutpoints[:, None, None, None] - noise)  # eta at which a rating goes up
    ordered = np.sort(steps.reshape(-1, *truth.eta.shape), axis=0)
    below = np.take_along_axis(ordered, needed[None] - 1, axis=0)
    above = np.take_along_axis(ordered, needed[None], axis=0)
    score = 1 + (steps < (below + above) / 2).sum(axis=0)
    return Simulation(_table(truth, score, refused), truth)


def _refusals(truth: Truth, rng: np.random.Generator) -> BoolArray:
    """(participant, model, question) which responses were declined: 82 of them, at random within each stratum."""
    others = [model for model in truth.models if model not in REFUSALS]
    safety = truth.question_domain == truth.domains.index(SAFETY)
    draw = rng.random((len(truth.participants), *truth.eta.shape))
    refused = np.zeros(draw.shape, dtype=bool)
    for names, counts in [*(([name], counts) for name, counts in REFUSALS.items()), (others, OTHER_REFUSALS)]:
        of_model = np.isin(truth.models, names)[:, None]
        for of_question, count in zip((safety, ~safety), counts, strict=True):
            stratum = np.where(of_model & of_question, draw, np.inf)
            refused |= stratum <= np.partition(stratum.ravel(), count - 1)[count - 1]
    return refused


def _logistic(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Standard logistic noise by inversion: `random` is the stream that NumPy keeps stable."""
    noise: FloatArray = logit(rng.random(shape))
    return noise


def _table(truth: Truth, score: IntArray, refused: BoolArray) -> pd.DataFrame:
    """A row a rating: participants slowest, then questions, then models."""
    person, model, question = np.indices(score.shape).transpose(0, 1, 3, 2).reshape(3, -1)
    return pd.DataFrame(
        {
            "rater": np.array(truth.participants)[person],
            "item": np.array(truth.questions)[question],
            "system": np.array(truth.models)[model],
            "domain": np.array(truth.domains)[truth.question_domain[question]],
            "score": score[person, model, question],
            "refused": refused[person, model, question].astype(np.int64),
        }
    )


def _models(cells: Cells, n_models: int, models: Sequence[str]) -> list[str]:
    """The models asked for, by name or by number, in the order of the published table."""
    published = [cells.levels["model"][code] for code in pd.unique(cells.codes["model"])]
    unknown = [name for name in models if name not in published]
    if unknown or not 1 <= n_models <= len(published):
        asked = ", ".join(unknown) or f"{n_models} models"
        raise InputError("simulate", f"the recipe does not have {asked}", advice=f"it has {', '.join(published)}")
    return list(models) or published[:n_models]


def _check_sizes(
    mode: Mode, effects: Effects, n_participants: int, n_questions: int, n_models: int, cells: Cells
) -> None:
    whole = (N_PARTICIPANTS, len(cells.levels["question"]), len(cells.levels["model"]))
    if mode == "R" and ((n_participants, n_questions, n_models) != whole or effects != "recipe"):
        raise InputError(
            "simulate", f"recipe R is the whole design, {' x '.join(map(str, whole))}", advice="use mode Radd"
        )
    most = n_participants if effects == "normal" else N_PARTICIPANTS
    if not (1 <= n_participants <= most and 1 <= n_questions <= whole[1]):
        raise InputError("simulate", f"sizes are 1 to {most} participants and 1 to {whole[1]} questions")
