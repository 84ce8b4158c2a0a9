"""How hard each question is, and how lenient each participant."""

import numpy as np
import xarray as xr

from drift.estimands.deviation import cell_values
from drift.estimands.kernel import average_fraction
from drift.estimands.population import these_people
from drift.estimands.quadrature import Floats
from drift.estimands.summary import ROWS
from drift.estimands.terms import SAMPLE, NoTermError, Ordinal, is_ordinal, read_cell_means, read_ordinal

MOST_CELLS_AT_ONCE = 4_000_000  # of draws x models x questions: 32 MB


def question_difficulty(tree: xr.DataTree) -> xr.DataArray:
    """Draws of each question's expected deviation, dims (chain, draw, question), percent; larger is harder.

    Averaged equally over all models, and over the participants in the data. Coordinate `n_rows`.
    Raises `NoTermError` where the study has no questions.
    """
    if "question" not in tree["constant_data"].coords:
        raise NoTermError("this study has no question column, so no question is harder than another")
    values = _ordinal_difficulty(read_ordinal(tree)) if is_ordinal(tree) else _cell_difficulty(tree)
    return _labelled(tree, values, "question", "difficulty", "percent")


def participant_leniency(tree: xr.DataTree) -> xr.Dataset:
    """Draws of each participant's leniency against the mean participant in the data, dims (chain, draw, participant).

    `leniency`: logits, *positive* for a participant who rates better. `shift`: what that does to the deviation of these
    cells (every model x question equally), percentage points, against the average over participants; *negative* for a
    lenient participant. Coordinate `n_rows`. Raises `NoTermError` for a card without participants.
    """
    terms = None if not is_ordinal(tree) else read_ordinal(tree)
    if terms is None or terms.participant is None:
        raise NoTermError("this card has no participant term, so no participant is more lenient than another")
    share = 100.0 * np.concatenate([_share_of_each(terms, block) for block in _blocks(terms)])
    shift = share - share.mean(axis=1, keepdims=True)
    return xr.Dataset(
        {
            "leniency": _labelled(tree, terms.participant, "participant", "leniency", "logits"),
            "shift": _labelled(tree, shift, "participant", "shift", "percentage points"),
        }
    )


def _ordinal_difficulty(terms: Ordinal) -> Floats:
    people = these_people(terms)
    n = len(terms.design.questions)
    fraction = average_fraction(
        terms.base, terms.question, terms.design.question_domain, np.ones(n), people.level, people.weight,
        terms.cutpoints, interaction=terms.model_question, group_of=np.arange(n), pool_models=True,
    )  # fmt: skip
    return 100.0 * fraction[:, 0, :]


def _cell_difficulty(tree: xr.DataTree) -> Floats:
    terms = read_cell_means(tree)
    return sum(cell_values(terms), np.zeros(terms.question.shape)) / len(terms.design.models)


def _share_of_each(terms: Ordinal, block: slice) -> Floats:
    """(sample, participant) expected deviation, 0..1, over all cells: the cells now take the place of persons."""
    assert terms.participant is not None
    level = terms.participant[block]
    n_people = level.shape[1]
    cells = terms.base[block][:, :, terms.design.question_domain] + terms.question[block][:, None, :]
    if terms.model_question is not None:
        cells = cells + terms.model_question[block]
    cells = np.ascontiguousarray(cells.reshape(len(cells), -1))
    fraction = average_fraction(
        np.zeros((len(cells), 1, 1)), level, np.zeros(n_people, np.int64), np.ones(n_people), cells,
        np.full(cells.shape[1], 1.0 / cells.shape[1]), terms.cutpoints[block], group_of=np.arange(n_people),
    )  # fmt: skip
    return fraction[:, 0, :]


def _blocks(terms: Ordinal) -> list[slice]:
    n_cells = len(terms.design.models) * len(terms.design.questions)
    size = max(1, MOST_CELLS_AT_ONCE // n_cells)
    return [slice(start, start + size) for start in range(0, len(terms.base), size)]


def _labelled(tree: xr.DataTree, values: Floats, dim: str, name: str, unit: str) -> xr.DataArray:
    posterior, data = tree["posterior"], tree["constant_data"].to_dataset()
    labels = data[dim].values
    rows = np.bincount(np.asarray(data[f"{dim}_index"].values, np.int64), minlength=len(labels))
    coords = {"chain": posterior["chain"].values, "draw": posterior["draw"].values, dim: labels, ROWS: (dim, rows)}
    shape = (posterior.sizes["chain"], posterior.sizes["draw"], len(labels))
    return xr.DataArray(values.reshape(shape), coords, [*SAMPLE, dim], name=name, attrs={"unit": unit})
