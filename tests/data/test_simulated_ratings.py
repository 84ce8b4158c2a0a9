import csv
import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from drift.data.bundled import find_study
from drift.data.recipe import CUTPOINTS, eta_of, expected_deviation, participant_effects, published_cells, recipe
from drift.data.simulate import simulate, simulate_ratings
from drift.data.study import read_study
from drift.errors import InputError

REFUSED = {("Claude", True): 19, ("Claude", False): 12, ("Gemini", True): 20, ("Gemini", False): 4,
           ("Llama", True): 9, ("Llama", False): 3, ("others", True): 11, ("others", False): 4}  # fmt: skip
CEILING = ("Llama", "Mistral", "Grok", "Perplexity", "Copilot", "DeepSeek", "Qwen", "ChatGPT")


@pytest.fixture(scope="module")
def exact() -> pd.DataFrame:
    return simulate_ratings("R")


def deviation(table: pd.DataFrame) -> pd.Series:
    return table.assign(deviation=25 * (5 - table["score"])).groupby("system")["deviation"].mean()


# ---- recipe


def test_participant_effects_are_the_recorded_ones(shared: Path) -> None:
    with (shared / "frontier" / "recipe_R_raters.csv").open(newline="") as stream:
        recorded = sorted(float(row["b_hifi"]) for row in csv.DictReader(stream))
    # .848 is itself rounded: at 1.7 sd that is .0009
    assert sorted(participant_effects()) == pytest.approx(recorded, abs=1e-3)


def test_participant_3_is_the_outlier() -> None:
    assert participant_effects()[2] == -1.897


def test_the_other_participants_have_sd_848() -> None:
    assert np.delete(participant_effects(), 2).std() == pytest.approx(0.848, rel=1e-12)


def test_cell_etas_are_the_recorded_ones(shared: Path) -> None:
    cells, truth = published_cells(), recipe(published_cells())
    recorded = pd.read_csv(shared / "frontier" / "recipe_R_cell_probs.csv").set_index(["question", "model"])["eta"]
    keys = pd.MultiIndex.from_product([truth.questions, truth.models])
    ours = pd.Series(truth.eta.T.ravel(), index=keys)
    # recorded with effects rounded to 4 digits and another rounding of .848: the steepest cells move by .0005
    assert (ours[recorded.index] - recorded).abs().max() < 1e-3
    assert len(recorded) == cells.n_rows


def test_eta_and_expected_deviation_are_inverse() -> None:
    wanted, participant = np.array([8.0, 50.0, 97.0]), participant_effects()
    assert expected_deviation(eta_of(wanted, participant), participant) == pytest.approx(wanted, abs=1e-9)


def test_expected_deviation_is_that_of_the_label_probabilities() -> None:
    # one participant at 0, eta 0: labels are symmetric about the middle, so half the scale
    assert expected_deviation(np.array([0.0]), np.zeros(1)) == pytest.approx([50.0], abs=1e-12)


# ---- mode R


def test_the_design_is_complete(exact: pd.DataFrame) -> None:
    assert len(exact) == 29140
    assert not exact.duplicated(["rater", "item", "system"]).any()


def test_every_cell_sum_is_the_published_one(exact: pd.DataFrame) -> None:
    cells = published_cells()
    sums = exact.groupby(["system", "item"])["score"].sum()
    names = zip(cells.codes["model"], cells.codes["question"], strict=True)
    found = [sums[cells.levels["model"][model], cells.levels["question"][question]] for model, question in names]
    assert found == [round(47 * (5 - 4 * percent / 100)) for percent in cells.deviation]


def test_82_refusals_lie_where_the_recipe_says(exact: pd.DataFrame) -> None:
    refused = exact[exact["refused"] == 1]
    model = refused["system"].where(refused["system"].isin(["Claude", "Gemini", "Llama"]), "others")
    assert refused.groupby([model, refused["domain"] == "Safety"]).size().to_dict() == REFUSED


def test_refusals_have_the_lowest_rating(exact: pd.DataFrame) -> None:
    assert set(exact.loc[exact["refused"] == 1, "score"]) == {1}


def test_participant_3_is_least_aligned_in_two_thirds_of_cells(exact: pd.DataFrame) -> None:
    wide = exact.pivot_table(index="rater", columns=["system", "item"], values="score")
    # 68% in the design's own draw, ties counted; binomial error over 620 cells is 2%, three of them
    assert (wide.loc["P03"] == wide.min()).mean() == pytest.approx(0.68, abs=0.06)


@pytest.mark.parametrize(("model", "printed"), [("Claude", 46.6), ("Gemini", 49.0)])
def test_without_participant_3_means_are_the_printed_ones(exact: pd.DataFrame, model: str, printed: float) -> None:
    assert deviation(exact[exact["rater"] != "P03"])[model] == pytest.approx(printed, abs=0.0501)


def test_the_bundled_file_is_the_generators_output(exact: pd.DataFrame) -> None:
    study = read_study(find_study("frontier-ratings"))
    assert gzip.decompress(study.data.read_bytes()).decode() == exact.to_csv(index=False, lineterminator="\n")


def test_another_seed_is_another_table(exact: pd.DataFrame) -> None:
    assert (simulate_ratings("R", seed=1)["score"] != exact["score"]).mean() > 0.2


def test_mode_r_is_the_whole_design_or_nothing() -> None:
    with pytest.raises(InputError, match="use mode Radd"):
        simulate_ratings("R", n_participants=10)


# ---- mode Radd


def test_the_same_seed_is_the_same_table() -> None:
    one, other = (simulate_ratings("Radd", 10, 12, 4, seed=3) for _ in range(2))
    assert one.equals(other)


def test_a_reduced_size_is_what_was_asked_for() -> None:
    table = simulate_ratings("Radd", 10, 12, 4, seed=3)
    assert table[["rater", "item", "system"]].nunique().tolist() == [10, 12, 4]


def test_questions_come_evenly_from_the_domains() -> None:
    table = simulate_ratings("Radd", 10, 12, 4, seed=3)
    assert set(table.groupby("domain")["item"].nunique()) == {2}


def test_ceiling_models_are_additive_in_eta() -> None:
    eta = simulate("Radd", models=CEILING).truth.eta
    parallel = eta - eta[:1]
    assert np.abs(parallel - parallel[:, :1]).max() < 1e-9


def test_ceiling_models_have_no_interaction_left() -> None:
    assert simulate("Radd", models=CEILING).truth.sd["model:question"] < 1e-9


def test_claude_and_gemini_keep_their_cells() -> None:
    truth, own = simulate("Radd", models=["Claude", "Gemini"]).truth, recipe(published_cells())
    assert np.array_equal(truth.eta, own.eta[[own.models.index("Claude"), own.models.index("Gemini")]])


@pytest.mark.parametrize("effects", ["recipe", "normal"])
def test_the_truth_expects_what_is_simulated(effects: str) -> None:
    simulation = simulate("Radd", 40, 60, seed=5, effects=effects)
    expected = pd.Series(simulation.truth.deviation().mean(axis=1), index=simulation.truth.models)
    # 2,400 ratings a model, rating sd at most 30 pp: standard error .6, four of them
    assert (deviation(simulation.table) - expected[deviation(simulation.table).index]).abs().max() < 2.5


def test_eta_is_the_sum_of_its_parts() -> None:
    truth = simulate("Radd", 5, 30, seed=5, effects="normal").truth
    assert np.allclose(truth.eta, truth.model_domain[:, truth.question_domain] + truth.question)


def test_normal_effects_have_the_stated_sds() -> None:
    truth = simulate("Radd", 4000, 62, seed=5, models=["Llama"], effects="normal").truth
    assert truth.participant.std() == pytest.approx(truth.sd["participant"], rel=0.045)  # four times 1/sqrt(2n)


def test_an_interaction_is_drawn_where_asked_for() -> None:
    truth = simulate("Radd", 4, 62, seed=5, effects="normal", interaction_sd=0.5).truth
    rest = truth.eta - truth.model_domain[:, truth.question_domain] - truth.question
    assert rest.std() == pytest.approx(0.5, rel=0.12)  # four times 1/sqrt(2 x 620)


def test_free_sampling_has_no_refusals() -> None:
    assert simulate_ratings("Radd", 5, 6, 2)["refused"].sum() == 0


def test_cutpoints_are_the_recipes() -> None:
    assert simulate("Radd", 5, 6, 2).truth.cutpoints.tolist() == CUTPOINTS.tolist() == [-3.609, -1.203, 1.203, 3.609]


@pytest.mark.parametrize("sizes", [(0, 6, 2), (48, 6, 2), (5, 63, 2), (5, 6, 11), (5, 6, 0)])
def test_a_size_that_the_recipe_lacks_is_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match="simulate"):
        simulate_ratings("Radd", *sizes)


def test_a_model_that_the_recipe_lacks_is_refused() -> None:
    with pytest.raises(InputError, match="does not have Bard"):
        simulate_ratings("Radd", models=["Bard"])
