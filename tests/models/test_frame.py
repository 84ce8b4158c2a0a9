"""From validated ratings to the arrays that a model is built on."""

from dataclasses import replace

import numpy as np
import pytest

from drift.data.cells import cells_from_ratings
from drift.models.frame import cells_frame, ratings_frame

TERMS = ("domain", "model:domain", "question", "participant")
N_CELLS = 18  # 3 models x 6 questions; the domain of a question is given
N_ROWS = 144

# A mean of 40% on labels 0, 25, 50, 75, 100 from 5 ratings. Least: 2 at 25 and 3 at 50 (above 15, below 10), 150 pp^2.
# Greatest: 2 at 100 and 3 at 0, 2400 pp^2. Over 5 ratings each.
LEAST, GREATEST = 30.0, 480.0


@pytest.fixture
def frame(ratings):
    return ratings_frame(ratings, TERMS)


def test_cells_are_the_combinations_that_occur(frame):
    assert len(frame.arrays["cell_model"]) == N_CELLS
    assert frame.arrays["end"][-1, -1] == N_ROWS


def test_combinations_that_do_not_occur_have_no_cell(ratings):
    kept = (ratings.codes["model"] != 1) | (ratings.codes["question"] > 2)
    codes = {factor: code[kept] for factor, code in ratings.codes.items()}
    thinned = replace(ratings, rating=ratings.rating[kept], codes=codes)
    assert len(ratings_frame(thinned, TERMS).arrays["cell_model"]) == N_CELLS - 3


def rows_of(frame):
    """(row,) cell, participant and label of the sorted rows."""
    end = frame.arrays["end"]
    outer = np.repeat(np.arange(len(end)), np.diff(end[:, -1], prepend=0))
    label = np.repeat(np.tile(np.arange(end.shape[1]), len(end)), np.diff(end.ravel(), prepend=0))
    sides = (frame.arrays["index"], outer) if frame.outer == "participant" else (outer, frame.arrays["index"])
    return *sides, label


@pytest.mark.parametrize("n_people", [8, 100])
def test_rows_are_sorted_as_the_layout_has_them(ratings, n_people):
    """Fewer participants than cells, and more: either side can be the outer loop."""
    person = np.arange(N_ROWS) % n_people
    levels = {**ratings.levels, "participant": tuple(map(str, range(n_people)))}
    ratings = replace(ratings, codes={**ratings.codes, "participant": person}, levels=levels)
    frame = ratings_frame(ratings, TERMS)
    assert frame.outer == ("participant" if n_people <= N_CELLS else "cell")
    cell, participant, label = rows_of(frame)
    np.testing.assert_array_equal(frame.arrays["rating_sorted"], label)
    factors = ("model", "domain", "question")
    found = sorted(
        (*(int(frame.arrays[f"cell_{factor}"][c]) for factor in factors), int(p), int(r))
        for c, p, r in zip(cell, participant, label, strict=True)
    )
    rows = zip(*(ratings.codes[factor] for factor in (*factors, "participant")), ratings.rating, strict=True)
    assert found == sorted(tuple(map(int, row)) for row in rows)


def test_a_label_that_nobody_used_is_a_label(frame, ratings):
    assert (ratings.rating < 4).all()
    assert frame.coords["label"].tolist() == ["1", "2", "3", "4", "5"]
    assert frame.coords["cutpoint"].tolist() == ["1|2", "2|3", "3|4", "4|5"]


def test_questions_are_grouped_by_domain(frame):
    np.testing.assert_array_equal(frame.arrays["question_group"], [0, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(frame.arrays["question_size"], [3, 3])


def test_questions_are_one_group_where_the_model_has_no_domains(ratings):
    frame = ratings_frame(ratings, ("question", "participant"))
    assert (frame.arrays["question_group"] == 0).all()
    assert "domain" not in frame.coords


def test_factors_that_no_term_needs_are_absent(ratings):
    frame = ratings_frame(ratings, ("domain",))
    assert not {name for name in frame.arrays if "question" in name or "participant" in name}
    assert frame.outer == "participant"
    assert len(frame.arrays["end"]) == 1


@pytest.mark.parametrize("factor", ["model", "domain", "question", "participant"])
def test_centred_are_the_terms_whose_levels_surely_differ(factor, ratings):
    """Ratings that follow one factor's level and a coin: that term is centred; a term of pure noise is not."""
    coin = np.random.default_rng(1).integers(0, 2, size=N_ROWS)
    level = 3 * ratings.codes[factor] // max(len(ratings.levels[factor]) - 1, 1)
    centred = ratings_frame(replace(ratings, rating=level + coin), TERMS).centred
    assert factor in centred
    assert not ({"model", "participant", "model:domain"} - {factor}) & centred


def test_pure_noise_is_sampled_non_centred(ratings):
    noise = np.random.default_rng(2).integers(0, 5, size=N_ROWS)
    assert not ratings_frame(replace(ratings, rating=noise), TERMS).centred


def test_structure_changes_with_the_number_of_levels(simulated):
    one, other = (ratings_frame(simulated(n_participants=n), TERMS).structure() for n in (8, 9))
    assert one != other


def test_structure_does_not_change_with_the_ratings(simulated):
    one, other = (ratings_frame(simulated(seed=seed), TERMS).structure() for seed in (1, 2))
    assert one | {"centred": other["centred"]} == other


def test_structure_does_not_change_with_the_number_of_rows(ratings):
    half = {factor: code[:96] for factor, code in ratings.codes.items()}
    fewer = ratings_frame(replace(ratings, rating=ratings.rating[:96], codes=half), ("question",)).structure()
    assert fewer["lengths"] == ratings_frame(ratings, ("question",)).structure()["lengths"]


def test_noise_bounds_by_hand(ratings):
    cells = cells_from_ratings(ratings)
    one = replace(cells, deviation=np.array([40.0]), count=np.array([5]))
    low, high = one.noise_bounds()
    assert low[0] == pytest.approx(LEAST, rel=1e-13)
    assert high[0] == pytest.approx(GREATEST, rel=1e-13)


def test_noise_bounds_hold_for_every_cell_of_ratings(ratings):
    cells = cells_from_ratings(ratings)
    key = ratings.codes["model"] * 6 + ratings.codes["question"]
    deviation = ratings.scale.deviation(ratings.rating)
    own = np.array([deviation[key == k].var() / (key == k).sum() for k in np.unique(key)])
    low, high = cells.noise_bounds()
    assert (low <= own + 1e-9).all()
    assert (own <= high + 1e-9).all()


def test_means_of_an_unknown_number_of_ratings_are_exact(ratings):
    cells = cells_from_ratings(ratings)
    low, high = replace(cells, count=np.zeros(len(cells.count), np.int64)).noise_bounds()
    assert not low.any()
    assert not high.any()


def test_cells_frame_has_the_cells(cells):
    frame = cells_frame(cells, ("domain", "question"))
    np.testing.assert_array_equal(frame.arrays["observed"], cells.deviation)
    assert set(frame.coords) == {"model", "domain", "question"}
