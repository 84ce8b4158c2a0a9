import csv
from pathlib import Path

import pytest

from drift.data.bundled import bundled_studies, find_study
from drift.data.cells import read_cells
from drift.data.design import check_design
from drift.data.ratings import read_ratings
from drift.data.study import read_study
from drift.errors import StudyNotFoundError

OVERALL = {  # last row of Table S4
    "Claude": 47.0, "Gemini": 49.4, "Llama": 77.6, "Mistral": 78.3, "Grok": 79.1,
    "Perplexity": 79.6, "Copilot": 79.9, "DeepSeek": 80.5, "Qwen": 80.5, "ChatGPT": 80.4,
}  # fmt: skip
CEILING = ("Llama", "Mistral", "Grok", "Perplexity", "Copilot", "DeepSeek", "Qwen", "ChatGPT")


def test_the_bundled_studies() -> None:
    assert bundled_studies() == ("frontier-cells", "frontier-ratings", "scorer-audit")


def test_a_study_is_found_by_name() -> None:
    assert read_study(find_study("frontier-cells")).name == "frontier-cells"


def test_a_study_is_found_by_path_and_by_folder(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("", encoding="utf-8")
    assert find_study(tmp_path / "study.toml") == find_study(str(tmp_path)) == tmp_path / "study.toml"


def test_a_misspelt_name_gets_the_nearest() -> None:
    with pytest.raises(StudyNotFoundError, match="did you mean 'frontier-cells'"):
        find_study("frontier-cell")


def test_the_cells_are_those_printed(shared: Path) -> None:
    with (shared / "frontier" / "table_s4.csv").open(newline="") as stream:
        printed = {(row["question"], row["model"]): float(row["deviation_pct"]) for row in csv.DictReader(stream)}
    cells = read_cells(read_study(find_study("frontier-cells")))
    questions, models = cells.levels["question"], cells.levels["model"]
    found = {
        (questions[question], models[model]): deviation
        for question, model, deviation in zip(
            cells.codes["question"], cells.codes["model"], cells.deviation, strict=True
        )
    }
    assert found == printed


def test_the_cells_average_to_the_printed_overall_row() -> None:
    cells = read_cells(read_study(find_study("frontier-cells")))
    for model, printed in OVERALL.items():
        mean = cells.deviation[cells.codes["model"] == cells.levels["model"].index(model)].mean()
        assert mean == pytest.approx(printed, abs=0.0501)  # printed to one decimal


def test_the_cells_are_complete() -> None:
    cells = read_cells(read_study(find_study("frontier-cells")))
    assert (cells.n_rows, cells.raters, len(cells.levels["domain"])) == (620, 47, 6)


@pytest.mark.parametrize("name", ["frontier-cells", "frontier-ratings"])
def test_the_claimed_set_is_the_ceiling(name: str) -> None:
    equivalence = read_study(find_study(name)).equivalence
    assert equivalence is not None
    assert (equivalence.set, equivalence.margin_pp, equivalence.sensitivity_pp) == (CEILING, 5.0, (3.0, 7.0))


def test_simulated_ratings_say_so() -> None:
    study = read_study(find_study("frontier-ratings"))
    assert study.simulated
    assert "SIMULATED" in study.title


def test_published_cells_are_not_called_simulated() -> None:
    assert not read_study(find_study("frontier-cells")).simulated


def test_the_ratings_identify_every_term() -> None:
    study = read_study(find_study("frontier-ratings"))
    terms = ("domain", "model:domain", "participant", "question", "model:question")
    assert check_design(read_ratings(study), terms, study) == terms
