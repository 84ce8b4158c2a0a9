"""These levels or new ones: what a target averages over, as mixtures of points.

Effects in a posterior are centred over the levels in the data. For exchangeable N(mu, sd^2) levels, the mean of n
levels is off the population mean by N(0, sd^2 / n), independent of the centred part; so the mean of a *new* population
is the centred value plus an offset, drawn here once per posterior draw. Offsets are keyed by the seed, the factor and
the labels: the same file gives the same numbers, in whatever order its levels stand.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from drift.data.declaration import Target
from drift.estimands.quadrature import Floats, n_nodes_for, normal_nodes
from drift.estimands.terms import CellMeans, Design, Ints, Ordinal


@dataclass(frozen=True)
class QuestionPoints:
    """Points that stand for questions, in logits.

    base: (sample, model, domain). level: (sample, point), of domain `domain_of` (point,) and `weight` (point,), adding
    to 1 within a domain. interaction: (sample, model, point), added to the level, or None. scale: (sample, model) that
    the level is multiplied by, so that one set of points serves models of unequal spread, or None for 1.
    """

    base: Floats
    level: Floats
    domain_of: Ints
    weight: Floats
    interaction: Floats | None = None
    scale: Floats | None = None


@dataclass(frozen=True)
class PersonPoints:
    """Points that stand for participants: level (sample, point) logits and weight (point,), adding to 1."""

    level: Floats
    weight: Floats


def mixtures(terms: Ordinal, target: Target) -> tuple[QuestionPoints, PersonPoints]:
    """The points that `target` averages an ordinal card over. New questions and participants share a summed normal."""
    if target.questions == "new" and target.participants == "new":
        people = PersonPoints(participant_offset(terms)[:, None], np.ones(1))
        return _new_questions(terms, np.hypot(new_question_sd(terms), terms.sd("participant")[:, None])), people
    questions = _new_questions(terms, new_question_sd(terms)) if target.questions == "new" else these_questions(terms)
    return questions, these_people(terms) if target.participants == "these" else _new_people(terms)


def these_questions(terms: Ordinal) -> QuestionPoints:
    """Every question in the data, whichever models answered it."""
    domain = terms.design.question_domain
    weight = 1.0 / terms.design.questions_a_domain[domain]
    return QuestionPoints(terms.base, terms.question, domain, weight, terms.model_question)


def these_people(terms: Ordinal) -> PersonPoints:
    """Every participant in the data; a single point at zero where the card has no participants."""
    level = np.zeros((terms.base.shape[0], 1)) if terms.participant is None else terms.participant
    return PersonPoints(level, np.full(level.shape[1], 1.0 / level.shape[1]))


def latent_means(terms: Ordinal, target: Target) -> Floats:
    """(sample, model, domain) mean of the linear predictor, logits, over these questions or new ones."""
    if target.questions == "new":
        return population_base(terms)
    return terms.base + _mean_within(terms.question, terms.design)[:, None, :] + _mean_interaction(terms)


def population_base(terms: Ordinal) -> Floats:
    """(sample, model, domain) logits: the mean over the population of questions, offsets included."""
    return terms.base + question_offset(terms)[:, None, :] + model_question_offset(terms)


def new_question_sd(terms: Ordinal) -> Floats:
    """(sample, model) sd, in logits, of a new question's effect on one model: what models share, and its own answer."""
    return np.hypot(terms.sd("question")[:, None], terms.sd_model_question)


def question_offset(terms: Ordinal | CellMeans) -> Floats:
    """(sample, domain): population mean of the question effects minus their mean over the questions in the data."""
    design, n = terms.design, terms.base.shape[0]
    z = np.stack([standard_normal(design, n, "question", name) for name in set_names(design)], axis=1)
    return _by_domain(z * terms.sd("question")[:, None] / np.sqrt(design.questions_a_set), design)


def participant_offset(terms: Ordinal) -> Floats:
    """(sample,): population mean of the participant effects minus their mean over the participants in the data."""
    n_people = 1 if terms.participant is None else terms.participant.shape[1]
    z = standard_normal(terms.design, len(terms.base), "participant")
    return np.asarray(z * terms.sd("participant") / np.sqrt(n_people))


def model_question_offset(terms: Ordinal) -> Floats:
    """(sample, model, domain): the same for model x question effects, each model's on its own."""
    if terms.model_question is None:
        return np.zeros_like(terms.base)
    design, n = terms.design, terms.base.shape[0]
    z = np.stack(
        [
            np.stack([standard_normal(design, n, "model_question", model, name) for name in set_names(design)], axis=1)
            for model in design.models
        ],
        axis=1,
    )
    return _by_domain(z * terms.sd_model_question[:, :, None] / np.sqrt(design.questions_a_set), design)


def standard_normal(design: Design, n: int, *key: str) -> Floats:
    """(n,) standard normal numbers that depend on the study's seed and on `key` alone."""
    digest = hashlib.blake2b("\x1f".join(key).encode(), digest_size=16).digest()
    words = np.frombuffer(digest, dtype="<u4")
    sequence = np.random.SeedSequence(design.seed, spawn_key=tuple(int(word) for word in words))
    return np.random.default_rng(sequence).standard_normal(n)


def set_names(design: Design) -> tuple[str, ...]:
    """The names of the sets that questions are centred in: the domains, or one set of all."""
    return design.domains if len(design.questions_a_set) == len(design.domains) else ("all",)


def _new_questions(terms: Ordinal, sd: Floats) -> QuestionPoints:
    """Gauss-Hermite nodes in every domain, for effects of sd (sample, model)."""
    z, weight = normal_nodes(n_nodes_for(float(sd.max())))
    n_domains = len(terms.design.domains)
    level = np.tile(z, (len(sd), n_domains))
    domain_of = np.repeat(np.arange(n_domains), len(z))
    return QuestionPoints(population_base(terms), level, domain_of, np.tile(weight, n_domains), scale=sd)


def _new_people(terms: Ordinal) -> PersonPoints:
    if terms.participant is None:
        return these_people(terms)
    z, weight = normal_nodes(n_nodes_for(float(terms.sd("participant").max())))
    return PersonPoints(participant_offset(terms)[:, None] + terms.sd("participant")[:, None] * z, weight)


def _by_domain(offset: Floats, design: Design) -> Floats:
    """(..., domain) from (..., set)."""
    if offset.shape[-1] == len(design.domains):
        return offset
    return np.broadcast_to(offset, (*offset.shape[:-1], len(design.domains)))


def _mean_within(values: Floats, design: Design) -> Floats:
    """(..., domain) mean over the questions of each domain, from (..., question)."""
    member = design.question_domain[:, None] == np.arange(len(design.domains))
    return np.asarray(values @ (member / design.questions_a_domain))


def _mean_interaction(terms: Ordinal) -> Floats:
    return (
        np.zeros_like(terms.base) if terms.model_question is None else _mean_within(terms.model_question, terms.design)
    )
