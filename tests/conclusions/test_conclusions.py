"""Conclusions follow the draws: what is said, withheld and remarked on, from synthetic posteriors. No sampler."""

import importlib.util
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from drift.conclusions.compared import compared
from drift.conclusions.ratings import conclude, knows_new_questions
from drift.conclusions.text import MOST_PAIRS, as_text

STUDY = """\
title = "SIMULATED draws"
ratings = "ratings.csv"
simulated = true
models = ["ordinal"]
seed = 1
[columns]
participant = "p"
question = "q"
model = "m"
domain = "d"
rating = "r"
refused = "declined"
[refusals]
coding = "lowest"
[scale]
labels = [1, 2, 3, 4, 5]
[target]
questions = "{questions}"
[tiers]
Low = 40
Middle = 60
High = 100
[equivalence]
margin_pp = 5
sensitivity_pp = [10]
[[contrasts]]
name = "first against last"
treatment = ["model 0"]
comparator = ["model 2"]
"""
TERMS = ("domain", "model:domain", "question", "participant")
TABLES = {
    *("deviation", "deviation_by_domain", "tiers", "tiers_by_domain", "ranks", "rank_probabilities", "better"),
    *("equivalence", "joint_equivalence", "equivalence_curve", "largest_equivalent_set", "contrasts"),
    *("variance_shares", "icc", "question_difficulty", "participant_leniency"),
}
ROUNDING = 1e-9
PRINTED = 0.05 + 1e-9  # half a unit of the one decimal of a printed ratio or width


def builders():
    """The synthetic posteriors of the estimands' tests."""
    path = Path(__file__).parents[1] / "estimands" / "conftest.py"
    spec = importlib.util.spec_from_file_location("estimands_conftest", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(name="rhat", value=1.001, passed=True):
    return {
        "name": name,
        "value": value,
        "limit": 1.01,
        "at": "sd_question",
        "passed": passed,
        "advice": "" if passed else "draw more",
    }


PASSED = check()


@pytest.fixture(scope="session")
def make() -> Callable[..., xr.DataTree]:
    """A posterior as it is read from disk. Options of the builder, and what the attributes say."""
    build = builders().ordinal_posterior

    def posterior(
        card="ordinal", questions="new", checks=(PASSED,), refused=0, other_coding=False, left_out=(), **options
    ):
        rich = card == "ordinal-interaction"
        tree = build(leave_out=() if rich else ("model_question",), **options)
        data = tree["constant_data"].to_dataset()
        declined = np.arange(data.sizes["row"]) < refused
        tree["constant_data"] = xr.DataTree(
            data.assign(refused=("row", declined)).assign_attrs(dropped_refused=refused)
        )
        terms = [*TERMS[:3], *(["model:question"] if rich else []), TERMS[3]]
        tree.attrs = {
            "seed": 1,
            "study": "synthetic",
            "card": card,
            "study_toml": STUDY.format(questions=questions),
            "study_digest": "1",
            "data_digest": "2",
            "terms": json.dumps(terms),
            "left_out": json.dumps(left_out),
            "refusals": "missing" if other_coding else "lowest",
            "other_coding": str(other_coding).lower(),
            "checks": json.dumps(checks),
            "checks_passed": str(all(one["passed"] for one in checks)).lower(),
        }
        return tree

    return posterior


@pytest.fixture(scope="session")
def found(make):
    return conclude(make())


def remark(tree, begins):
    return [text for text in conclude(tree).remarks if text.startswith(begins)]


class TestTables:
    def test_every_declared_table_is_there(self, found):
        assert set(found.tables) == TABLES

    def test_probabilities_of_tiers_add_to_one(self, found):
        total = found.tables["tiers"].groupby("model")["probability"].sum()
        assert total.to_numpy() == pytest.approx(1.0, abs=ROUNDING)

    @pytest.mark.parametrize("by", ["model", "rank"])
    def test_probabilities_of_ranks_add_to_one_both_ways(self, found, by):
        total = found.tables["rank_probabilities"].groupby(by)["probability"].sum()
        assert total.to_numpy() == pytest.approx(1.0, abs=ROUNDING)

    def test_both_kinds_of_questions_are_reported_the_declared_first(self, make):
        for declared, other in (("new", "these"), ("these", "new")):
            tables = conclude(make(questions=declared)).tables
            for name in ("joint_equivalence", "contrasts"):
                assert tables[name]["questions"].unique().tolist() == [declared, other]

    def test_each_margin_is_reported(self, found):
        assert found.tables["joint_equivalence"]["margin_pp"].tolist() == [5.0, 10.0] * 2

    def test_a_spread_fixed_by_the_card_leaves_out_what_rests_on_it(self, make):
        """New questions, and the variance shares, which are of new questions."""
        tree = make(questions="these")
        tree["posterior"] = xr.DataTree(tree["posterior"].to_dataset().drop_vars("sd_question"))
        tables = conclude(tree).tables
        assert not knows_new_questions(tree)
        assert tables["contrasts"]["questions"].unique().tolist() == ["these"]
        assert TABLES - set(tables) == {"variance_shares", "icc"}

    def test_no_tiers_declared_is_no_table(self, make):
        tree = make()
        text = tree.attrs["study_toml"]
        tree.attrs["study_toml"] = text[: text.index("[tiers]")] + text[text.index("[equivalence]") :]
        assert not {"tiers", "tiers_by_domain"} & set(conclude(tree).tables)

    @pytest.mark.parametrize("shift", [0.5, -0.5])
    def test_a_model_rated_better_has_the_lower_deviation(self, make, shift):
        tree = make()
        before = conclude(tree).tables["deviation"].set_index("model")["mean"]
        data = tree["posterior"].to_dataset()
        moved = data["model_effect"] + shift * xr.DataArray([1.0, 0.0, 0.0], dims="model")
        tree["posterior"] = xr.DataTree(data.assign(model_effect=moved))
        after = conclude(tree).tables["deviation"].set_index("model")["mean"]
        assert np.sign(before["model 0"] - after["model 0"]) == np.sign(shift)
        assert after["model 1"] == pytest.approx(before["model 1"], abs=ROUNDING)

    def test_equal_draws_of_all_models_are_equivalent_for_certain(self, make):
        tree = make()
        data = tree["posterior"].to_dataset()
        none = {name: 0.0 * data[name] for name in ("model_effect", "model_domain_effect")}
        tree["posterior"] = xr.DataTree(data.assign(none))
        tables = conclude(tree).tables
        assert (tables["joint_equivalence"]["probability"] == 1.0).all()
        assert (tables["equivalence"]["decision"] == "equivalent").all()

    def test_numbers_survive_json(self, found):
        again = json.loads(json.dumps(found.as_dict()))
        for name, table in found.tables.items():
            numbers = table.select_dtypes("number")
            read = pd.DataFrame(again["tables"][name])[numbers.columns].astype(float)
            np.testing.assert_allclose(read, numbers, atol=1e-9)  # written with ten decimals


class TestAFailedCheck:
    @pytest.fixture(scope="class")
    @staticmethod
    def withheld(make):
        return conclude(make(checks=(check(), check("ess_bulk", 12.0, passed=False))))

    def test_removes_every_table_and_remark(self, withheld):
        assert (withheld.withheld, withheld.tables, withheld.remarks) == (True, {}, ())

    def test_is_named_with_its_advice(self, withheld):
        assert "- ess_bulk = 12 at sd_question (limit 1.01): draw more" in as_text(withheld)

    def test_that_passed_is_not_named(self, withheld):
        assert "rhat" not in as_text(withheld)

    def test_leaves_no_model_in_the_text(self, withheld):
        assert "model 0" not in as_text(withheld)

    def test_without_a_value_is_named_too(self, make):
        text = as_text(conclude(make(checks=(check(value=math.nan, passed=False),))))
        assert "- rhat = nan at sd_question" in text

    def test_compares_with_nothing(self, make):
        bad = make(card="ordinal-interaction", checks=(check(passed=False),))
        assert compared([make(), bad]) == ()


class TestRemarks:
    def test_an_interaction_is_missed_where_new_questions_are_the_target(self, make):
        (text,) = remark(make(), "The target is new questions and card ordinal is too certain")
        assert text.endswith("Read contrasts and equivalence from ordinal-interaction.")

    @pytest.mark.parametrize("options", [{"questions": "these"}, {"card": "ordinal-interaction"}])
    def test_nothing_is_missed_otherwise(self, make, options):
        assert remark(make(**options), "The target is new questions") == []

    def test_terms_left_out_are_named(self, make):
        assert remark(make(left_out=("participant",)), "Left out") == ["Left out by declaration: participant."]

    def test_nothing_left_out_is_no_remark(self, make):
        assert remark(make(), "Left out") == []

    def test_refusals_are_counted(self, make):
        assert remark(make(refused=3), "Refusals") == ["Refusals: 3 counted as the lowest label, as declared."]

    def test_refusals_coded_the_other_way_say_so(self, make):
        expected = "Refusals: 3 left out, which is not the declared coding."
        assert remark(make(refused=3, other_coding=True), "Refusals") == [expected]

    def test_no_refusal_is_no_remark(self, make):
        assert remark(make(refused=0), "Refusals") == []

    def test_the_other_weighting_names_the_models_that_change_rank(self, make):
        """Model 0 is best in the small domain, model 1 in the large one; a domain each, or a question each."""
        tree = make(sizes=(3, 9), fixed=True)
        data = tree["posterior"].to_dataset()
        zero = {name: 0.0 * data[name] for name in ("model_effect", "domain_effect", "question_effect")}
        grid = xr.DataArray([[1.2, -1.0], [-1.0, 1.0], [-0.2, 0.0]], dims=("model", "domain"))
        filled = 0.0 * data["model_domain_effect"] + grid
        tree["posterior"] = xr.DataTree(data.assign(**zero, model_domain_effect=filled))
        (text,) = remark(tree, "Weighting every domain equally instead of every question changes ranks of the means")
        assert text.endswith(": model 0 3 -> 1, model 1 1 -> 2, model 2 2 -> 3.")

    def test_the_other_weighting_that_changes_no_rank_says_so(self, make):
        tree = make(sizes=(4, 4))
        assert remark(tree, "Weighting") == [
            "Weighting every domain equally instead of every question changes no rank of the means."
        ]

    def test_models_that_no_tier_holds_are_those_below_95_percent(self, found):
        best = found.tables["tiers"].groupby("model")["probability"].max()
        texts = [text for text in found.remarks if text.startswith("No tier holds")]
        named = {model for model in best.index if texts and model in texts[0]}
        assert named == set(best.index[best < 0.95])


class TestCompared:
    @pytest.fixture(scope="class")
    @staticmethod
    def pair(make):
        return make(), make(card="ordinal-interaction")

    def test_the_ratio_is_that_of_the_widths(self, pair):
        tables = [conclude(tree).tables["contrasts"].query("questions == 'new'").iloc[0] for tree in pair]
        plain, rich = (row["upper"] - row["lower"] for row in tables)
        (sentence,) = compared(pair)
        words = sentence.split()
        ratio = float(words[words.index("times") - 1])
        widths = [float(word.strip("(")) for word in words if word.startswith("(")]
        assert ratio == pytest.approx(rich / plain, abs=PRINTED)
        assert widths == pytest.approx([rich, plain], abs=PRINTED)

    def test_it_says_why(self, pair):
        assert compared(pair)[0].endswith(
            "ordinal is too certain: it has no model x question term, so it takes all models to find the same "
            "questions hard."
        )

    def test_order_does_not_matter(self, pair):
        assert compared(pair) == compared(pair[::-1])

    def test_new_questions_are_compared_whatever_the_target(self, make, pair):
        these = make(questions="these"), make(card="ordinal-interaction", questions="these")
        assert compared(these) == compared(pair)

    @pytest.mark.parametrize("name", ["study_digest", "data_digest"])
    def test_posteriors_of_other_studies_or_data_are_not_compared(self, make, name):
        other = make(card="ordinal-interaction")
        other.attrs[name] = "other"
        assert compared([make(), other]) == ()

    def test_refusals_coded_both_ways_give_the_largest_move(self, make):
        declared, other = make(), make(other_coding=True)
        data = other["posterior"].to_dataset()
        moved = data["model_effect"] + xr.DataArray([0.0, 0.4, 0.0], dims="model")
        other["posterior"] = xr.DataTree(data.assign(model_effect=moved))
        one, two = (
            conclude(tree).tables["deviation"].set_index("model")["mean"]["model 1"] for tree in (declared, other)
        )
        (sentence,) = compared([declared, other])
        assert f"move by at most {abs(two - one):.2f} pp (model 1 {one:.1f} -> {two:.1f})" in sentence


class TestText:
    @pytest.fixture(scope="class")
    @staticmethod
    def text(found):
        return as_text(found)

    @staticmethod
    def rows(text, title):
        lines = text[text.index(title) :].splitlines()[1:]
        return lines[1 : lines.index("")]

    def test_begins_with_study_card_and_label(self, text):
        assert text.splitlines()[:3] == [
            "synthetic, card ordinal",
            "SIMULATED draws",
            "SIMULATED DATA: nothing below is a finding about the models named",
        ]

    @pytest.mark.parametrize("title", ["Deviation (", "Probability of each tier", "Probability of each rank"])
    def test_models_stand_in_the_order_of_their_deviation(self, found, text, title):
        expected = found.tables["deviation"]["model"].tolist()
        assert [next(m for m in expected if m in row) for row in self.rows(text, title)] == expected

    def test_a_probability_that_is_estimated_is_never_printed_as_0_or_1(self, text):
        for title in ("Probability of each tier", "Probability of each rank"):
            words = {word for row in self.rows(text, title) for word in row.split()[2:]}
            assert not words & {"0", "1", "0.000", "1.000", "1.00"}

    def test_a_monte_carlo_error_is_never_printed_as_0(self, found):
        """Of what varies over draws at all."""
        table = found.tables["contrasts"].assign(mcse_mean=0.00004)
        text = as_text(type(found)(**{**vars(found), "tables": {**found.tables, "contrasts": table}}))
        assert "0.00004" in text

    def test_a_pair_has_the_model_of_lower_deviation_first(self, found, text):
        order = found.tables["deviation"]["model"].tolist()
        listed = found.tables["equivalence"].query("decision != 'different'")
        pairs = [f"{a} - {b}" for place, a in enumerate(order) for b in order[place + 1 :]]
        assert sum(pair in text for pair in pairs) == len(listed)

    def test_pairs_are_counted_and_at_most_twenty_are_listed(self, make):
        """Eight models of equal effects: 28 pairs, all equivalent."""
        tree = make(n_models=8)
        data = tree["posterior"].to_dataset()
        near = {name: 0.001 * data[name] for name in ("model_effect", "model_domain_effect")}
        tree["posterior"] = xr.DataTree(data.assign(near))
        text = as_text(conclude(tree))
        assert "28 pairs: 0 undecided, 28 equivalent, 0 different; the 20 least clear are listed" in text
        assert len([line for line in text.splitlines() if line.endswith(" equivalent")]) == MOST_PAIRS

    def test_one_model_alone_is_no_error(self, make):
        tree = make(n_models=1)
        tree.attrs["study_toml"] = tree.attrs["study_toml"].partition("[[contrasts]]")[0]
        text = as_text(conclude(tree))
        assert "Equivalence of pairs" not in text

    def test_a_terms_own_name_is_not_cut_at_a_hyphen(self, make):
        """So that `ordinal-interaction` can be found and copied."""
        remarks = as_text(conclude(make())).partition("- The target is")[2]
        assert "ordinal-interaction" in remarks

    def test_lines_of_sentences_are_at_most_110_wide(self, text):
        sentences = [line for line in text.splitlines() if line.startswith("- ")]
        assert sentences
        assert max(map(len, sentences)) <= 110
