"""Which terms of a model card a design carries information on. What it cannot tell is left out only by declaration."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from drift.data.declaration import Study
from drift.data.levels import Codes, Levels
from drift.errors import AnonymousSlotsError, DisconnectedDesignError, Row, StudyFileError, UnidentifiedTermError
from drift.scale import IntArray

MOST_SLOTS = 10  # a panel whose members are called 1, 2, ... up to this many is taken for positions in a table
MOST_NAMED = 8  # levels that a message names before it says how many more there are

# Of two terms that split the rows alike, the one that stands first here is named as the one that cannot be told.
BLAMED = ("model:domain", "model:question", "domain", "participant", "question", "model")


class Coded(Protocol):
    """Ratings or cells: factor -> (row,) level codes, factor -> level names, and the data file's name."""

    @property
    def codes(self) -> Codes: ...
    @property
    def levels(self) -> Levels: ...
    @property
    def source(self) -> str: ...


def check_design(data: Coded, terms: Sequence[str], study: Study) -> tuple[str, ...]:
    """The terms of a card that are kept: those asked for, less the declared `leave_out`, in the card's order.

    Raises `StudyFileError` where `leave_out` names a term that the card does not have; one `UnidentifiedTermError` (or
    `AnonymousSlotsError`) that names every term which this design cannot tell, why, and what to write;
    `DisconnectedDesignError` where models share neither a question nor a participant.
    """
    _check_leave_out(terms, study)
    kept = tuple(term for term in terms if term not in study.leave_out)
    reasons = unidentified(data, kept, study)
    if reasons:
        kind = AnonymousSlotsError if _anonymous(data, kept, study) else UnidentifiedTermError
        count = len(reasons)
        raise kind(
            data.source,
            f"{count} term{'s' * (count > 1)} that this design cannot identify",
            [(None, f"{term}: {reasons[term]}") for term in kept if term in reasons],
            advice=f"to fit without, write in {study.path.name}:\n{_declaration(terms, {*study.leave_out, *reasons})}",
        )
    _check_connected(data, kept, study)
    return kept


def unidentified(data: Coded, terms: Sequence[str], study: Study) -> dict[str, str]:
    """Term -> why the design carries no information on it, with numbers. Empty where every term is identified."""
    reasons = {term: reason for term in terms if (reason := _reason_alone(data, term, study))}
    if _anonymous(data, terms, study):
        reasons["participant"] = _slots_text(data.levels["participant"])
    told = [term for term in terms if term not in reasons]
    return reasons | _confounded(data, told)


def _check_leave_out(terms: Sequence[str], study: Study) -> None:
    """Raise `StudyFileError` for a left-out term that the card lacks, or a main effect left out of its interaction."""
    rows: list[Row] = [
        (None, f"[design] leave_out has {term!r}, which this card does not have")
        for term in study.leave_out
        if term not in terms
    ]
    rows += [
        (None, f"[design] leave_out has {term!r} and keeps {kept!r}, which contains it: leave out both")
        for term in study.leave_out
        for kept in terms
        if kept not in study.leave_out and term in kept.split(":") and term != kept
    ]
    if rows:
        raise StudyFileError(study.path.name, f"the card's terms are {', '.join(terms)}", rows)


def _anonymous(data: Coded, terms: Sequence[str], study: Study) -> bool:
    """Whether participants are called 1..n or 0..n-1, n <= 10, and nothing declares them persons or slots."""
    names = data.levels.get("participant", ())
    counted = [tuple(map(str, range(first, first + len(names)))) for first in (0, 1)]
    undeclared = "participant" in terms and study.participants_are is None
    return undeclared and 0 < len(names) <= MOST_SLOTS and names in counted


def _reason_alone(data: Coded, term: str, study: Study) -> str:
    """Why a term cannot be told whatever the other terms are; empty where it can."""
    factors = term.split(":")
    absent = [factor for factor in factors if factor not in data.codes]
    if absent:
        return f"no {' and no '.join(absent)} column is declared"
    if term == "participant" and study.participants_are == "slots":
        return "participants are declared slots, so one name stands for several persons"
    single = [factor for factor in factors if len(data.levels[factor]) == 1]
    if single:
        return "; ".join(f"there is one {factor}, {data.levels[factor][0]}" for factor in single)
    if term == "model:domain":
        return _empty_cells(data)
    return _rated_once(data, term) if term in ("participant", "question", "model:question") else ""


def _slots_text(names: Sequence[str]) -> str:
    return (
        f"the names {', '.join(names)} look like slot numbers, not persons; declare [design] participants_are = "
        f'"persons" if {names[0]} is the same person in every row, else "slots"'
    )


def _rated_once(data: Coded, term: str) -> str:
    """A random effect with one row a level is the residual under another name."""
    count = np.bincount(partition(data, term))
    if count.max() > 1:
        return ""
    named = f"{term} cells" if ":" in term else f"{term}s"
    return f"each of the {len(count)} {named} has one rating, so the effect cannot be told from the residual"


def _empty_cells(data: Coded) -> str:
    """Model x domain cells without a rating: their interaction would be the prior."""
    shape = (len(data.levels["model"]), len(data.levels["domain"]))
    count = np.zeros(shape, dtype=np.int64)
    np.add.at(count, (data.codes["model"], data.codes["domain"]), 1)
    empty = [f"{data.levels['model'][m]} in {data.levels['domain'][d]}" for m, d in np.argwhere(count == 0)]
    return f"{len(empty)} of {count.size} cells have no rating: {_named(empty)}" if empty else ""


def _confounded(data: Coded, terms: Sequence[str]) -> dict[str, str]:
    """Terms that split the rows exactly as another kept term (or model) does."""
    split = {term: partition(data, term) for term in BLAMED if term in (*terms, "model")}
    reasons = {}
    for place, term in enumerate(split):
        twin = next((other for other in list(split)[place + 1 :] if _same_split(split[term], split[other])), None)
        if twin is not None and term in terms:
            n_levels = split[term].max() + 1
            reasons[term] = f"its {n_levels} levels split the ratings exactly as {twin} does, so the two are confounded"
    return reasons


def partition(data: Coded, term: str) -> IntArray:
    """(row,) number, from 0, of the combination of the term's factors that occurs in each row."""
    key = np.zeros(len(data.codes["model"]), dtype=np.int64)
    for factor in term.split(":"):
        key = key * len(data.levels[factor]) + data.codes[factor]
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _same_split(one: IntArray, other: IntArray) -> bool:
    pairs = np.unique(one * (other.max() + 1) + other)
    return bool(len(pairs) == one.max() + 1 == other.max() + 1)


def _check_connected(data: Coded, terms: Sequence[str], study: Study) -> None:
    """Raise `DisconnectedDesignError` where models fall into sets that share no question and no participant.

    Between such sets only the exchangeability of questions and participants compares models: an assumption about how
    they were assigned, so it has to be declared. Nothing is checked where neither term is kept.
    """
    tying = [factor for factor in ("question", "participant") if factor in terms]
    component = _model_components(data, tying)
    if not tying or component.max() == 0 or study.disconnected == "exchangeable":
        return
    models = data.levels["model"]
    sets = [[models[place] for place in np.flatnonzero(component == which)] for which in range(component.max() + 1)]
    shared = " and no ".join(tying)
    raise DisconnectedDesignError(
        data.source,
        f"models fall into {len(sets)} sets that share no {shared}",
        [(None, _named(names)) for names in sets],
        advice=(
            f"across sets a difference of models cannot be told from one of {'s and '.join(tying)}s; fit the sets"
            f"\nas studies of their own, or, if {'s and '.join(tying)}s were assigned to models at random, write in "
            f'{study.path.name}:\n[design]\ndisconnected = "exchangeable"'
        ),
    )


def _model_components(data: Coded, tying: Sequence[str]) -> IntArray:
    """(model,) number of the connected set, from 0, where models are linked by a shared level of a tying factor."""
    n_models = len(data.levels["model"])
    start, links = n_models, []
    for factor in tying:
        links.append(np.stack([data.codes["model"], data.codes[factor] + start]))
        start += len(data.levels[factor])
    ends = np.concatenate(links, axis=1) if links else np.zeros((2, 0), dtype=np.int64)
    graph = coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(start, start))
    found = connected_components(graph, directed=False)[1][:n_models]
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def _declaration(terms: Sequence[str], left_out: set[str]) -> str:
    """What to write in the study file, the terms in the card's order."""
    listed = ", ".join(f'"{term}"' for term in dict.fromkeys((*terms, *sorted(left_out))) if term in left_out)
    return f"[design]\nleave_out = [{listed}]"


def _named(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
