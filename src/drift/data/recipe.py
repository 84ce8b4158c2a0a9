"""The recipe that generates ratings in agreement with the published cell means of `frontier-cells`.

y = eta[model, question] + b[participant] + Logistic(0, 1); the rating is 1 + the number of cutpoints below y.
Logits throughout, positive when ratings go up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from drift.data.bundled import find_study
from drift.data.cells import Cells, read_cells
from drift.data.levels import question_domains
from drift.data.study import read_study
from drift.scale import FloatArray, IntArray

SEED = 20260724
CUTPOINTS = np.array([-3.609, -1.203, 1.203, 3.609])
N_PARTICIPANTS = 47
PARTICIPANT_SD = 0.848
OUTLIER, OUTLIER_EFFECT = 2, -1.897  # participant 3, the least aligned of seed 000's Table S3
HIGH_FIDELITY = ("Claude", "Gemini")
ETA_BOUND = 15.0  # P(best label) is 1 - 1e-5 there, whoever rates


@dataclass(frozen=True)
class Truth:
    """What generated a simulated table, in logits, positive when ratings go up.

    `eta`: (model, question) = `model_domain` of the question's domain + `question` + an interaction. `participant`:
    (participant,). `cutpoints`: (label - 1,). `sd`: of participant, question and model:question effects - of the normal
    distributions that they were drawn from, else of the recipe's own values.
    """

    models: tuple[str, ...]
    questions: tuple[str, ...]
    domains: tuple[str, ...]
    participants: tuple[str, ...]
    question_domain: IntArray
    eta: FloatArray
    model_domain: FloatArray
    question: FloatArray
    participant: FloatArray
    cutpoints: FloatArray
    sd: Mapping[str, float]

    def deviation(self) -> FloatArray:
        """(model, question) expected deviation over these participants, percent."""
        return expected_deviation(self.eta, self.participant, self.cutpoints)


def published_cells() -> Cells:
    """The bundled cell means of Table S4 of seed 000."""
    return read_cells(read_study(find_study("frontier-cells")))


def participant_effects() -> FloatArray:
    """(47,) logits: participant 3 apart, the others equally spaced with sd .848, in a fixed shuffled order."""
    spaced = np.arange(N_PARTICIPANTS - 1) - (N_PARTICIPANTS - 2) / 2
    order = np.argsort(np.random.default_rng([SEED, N_PARTICIPANTS]).random(N_PARTICIPANTS - 1))
    effects: FloatArray = np.insert((PARTICIPANT_SD * spaced / spaced.std())[order], OUTLIER, OUTLIER_EFFECT)
    return effects


def expected_deviation(eta: FloatArray, participant: FloatArray, cutpoints: FloatArray = CUTPOINTS) -> FloatArray:
    """Expected deviation in percent, averaged over the participants given. Shape as `eta`."""
    above = expit(eta[..., None, None] + participant[:, None] - cutpoints)
    deviation: FloatArray = 100.0 * (1.0 - above.mean(axis=(-1, -2)))
    return deviation


def eta_of(deviation: FloatArray, participant: FloatArray) -> FloatArray:
    """The eta whose expected deviation is as given, by bisection to 1e-12 logits. Shape as `deviation`."""
    low, high = np.full(deviation.shape, -ETA_BOUND), np.full(deviation.shape, ETA_BOUND)
    middle: FloatArray = np.zeros(deviation.shape)
    for _ in range(45):
        too_low = expected_deviation(middle, participant) > deviation
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
        middle = (low + high) / 2
    return middle


def recipe(cells: Cells) -> Truth:
    """The recipe as published: one eta a cell."""
    participant = participant_effects()
    eta = np.empty((len(cells.levels["model"]), len(cells.levels["question"])))
    eta[cells.codes["model"], cells.codes["question"]] = eta_of(cells.deviation, participant)
    return _decomposed(cells, eta, participant)


def additive_recipe(cells: Cells) -> Truth:
    """The recipe with eta = model + question for the ceiling models; the two others keep their cells."""
    truth = recipe(cells)
    ceiling = np.array([model not in HIGH_FIDELITY for model in truth.models])
    eta = truth.eta.copy()
    level = eta[ceiling]
    eta[ceiling] = level.mean(axis=1, keepdims=True) + level.mean(axis=0) - level.mean()
    return _decomposed(cells, eta, truth.participant)


def _decomposed(cells: Cells, eta: FloatArray, participant: FloatArray) -> Truth:
    """Eta as model x domain means, question effects (of the ceiling models, about their domain) and the rest."""
    domain = question_domains(cells.codes, cells.levels)
    assert domain is not None
    ceiling = np.array([model not in HIGH_FIDELITY for model in cells.levels["model"]])
    model_domain = _domain_means(eta, domain)
    question = eta[ceiling].mean(axis=0) - model_domain[ceiling].mean(axis=0)[domain]
    truth = Truth(
        models=cells.levels["model"],
        questions=cells.levels["question"],
        domains=cells.levels["domain"],
        participants=tuple(f"P{place:02d}" for place in range(1, len(participant) + 1)),
        question_domain=domain,
        eta=eta,
        model_domain=model_domain,
        question=question,
        participant=participant,
        cutpoints=CUTPOINTS,
        sd={"participant": PARTICIPANT_SD, "question": float(question.std())},
    )
    return replace(truth, sd={**truth.sd, "model:question": rest_sd(truth)})


def rest_sd(truth: Truth) -> float:
    """Standard deviation of what eta has beside model x domain and question effects."""
    return float((truth.eta - truth.model_domain[:, truth.question_domain] - truth.question).std())


def _domain_means(values: FloatArray, domain: IntArray) -> FloatArray:
    """(model, domain) means of (model, question) values."""
    member = domain[:, None] == np.arange(domain.max() + 1)
    means: FloatArray = values @ member / member.sum(axis=0)
    return means
