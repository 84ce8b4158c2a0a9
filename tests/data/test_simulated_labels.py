"""Simulated scorer panels: what was declared is what is drawn, and the bundled case study has the printed counts."""

import gzip
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, multivariate_normal, norm
from statsmodels.stats.inter_rater import cohens_kappa

from drift.data.bundled import find_study
from drift.data.labels import read_labels
from drift.data.scorer_audit import csv_text, simulate_scorer_audit
from drift.data.scorer_study import read_scorer_study
from drift.data.simulate_audits import AuditPlan
from drift.data.simulate_labels import PRESETS, PanelSetting, Rater, Route, simulate_panel
from drift.errors import InputError

N = 40_000  # keys of a panel whose shares are compared with probabilities: 4 standard errors are at most .01
FPR, FNR = (0.05, 0.30), (0.20, 0.10)
WIDE = PanelSetting(
    arms=("a", "b"),
    prevalence=(0.5, 0.3),
    fpr=FPR,
    fnr=FNR,
    n_models=1,
    n_keys=N,
    model_sd=0.0,
    arm_model_sd=0.0,
    raters=(Rater(0.02, 0.10), Rater((0.05, 0.15), (0.08, 0.20))),
    audits=(AuditPlan("all", size=N),),
)
DEPENDENT = replace(WIDE, dependence=(0.5, 0.3), scorer_dependent=True)
RATER_FPR, RATER_FNR = ((0.02, 0.05), (0.02, 0.15)), ((0.10, 0.08), (0.10, 0.20))  # by arm, then by rater
WITHIN = 4.0  # standard errors; about one check of 16,000 fails by chance, and the seeds are fixed


def errors(setting: PanelSetting, arm: int, label: int) -> np.ndarray:
    """(row, test) whether scorer and raters err, for the responses of an arm with this true label."""
    made = simulate_panel(setting, 11)
    rows = ((made.table["arm"] == setting.arms[arm]) & (made.truth.label == label)).to_numpy()
    said = made.table.loc[rows, ["flag", "rater_1", "rater_2"]].to_numpy(dtype=np.int64)
    return said != label


def standard_errors(share: float, probability: float, n: int) -> float:
    return abs(share - probability) / np.sqrt(probability * (1 - probability) / n)


# ---- what is declared is what is drawn


@pytest.mark.parametrize("setting", [WIDE, DEPENDENT], ids=["independent", "dependent"])
@pytest.mark.parametrize("arm", [0, 1])
@pytest.mark.parametrize("label", [0, 1])
def test_marginal_error_rates_are_the_declared_ones(setting: PanelSetting, arm: int, label: int) -> None:
    nominal = [(FPR, FNR)[label][arm], *(RATER_FPR, RATER_FNR)[label][arm]]
    wrong = errors(setting, arm, label)
    distance = [standard_errors(wrong[:, test].mean(), nominal[test], len(wrong)) for test in range(3)]
    assert max(distance) < WITHIN


@pytest.mark.parametrize(("label", "rho"), [(0, 0.5), (1, 0.3)])
def test_dependent_raters_err_together_as_two_correlated_normals_do(label: int, rho: float) -> None:
    wrong = errors(DEPENDENT, 0, label)
    limits = norm.ppf((RATER_FPR, RATER_FNR)[label][0])
    together = float(multivariate_normal.cdf(limits, cov=[[1, rho], [rho, 1]]))
    assert together > 1.5 * np.prod(norm.cdf(limits))  # far from independence, so that this test can tell
    assert standard_errors((wrong[:, 1] & wrong[:, 2]).mean(), together, len(wrong)) < WITHIN


def test_the_scorer_shares_the_factor_only_where_asked() -> None:
    wrong = errors(replace(DEPENDENT, scorer_dependent=False), 0, 1)
    apart = 0.20 * 0.10
    assert standard_errors((wrong[:, 0] & wrong[:, 1]).mean(), apart, len(wrong)) < WITHIN


def test_independent_raters_err_together_by_chance() -> None:
    wrong = errors(WIDE, 1, 1)
    assert standard_errors((wrong[:, 1] & wrong[:, 2]).mean(), 0.10 * 0.20, len(wrong)) < WITHIN


def test_arms_share_a_key_effect() -> None:
    label = simulate_panel(WIDE, 4).truth.label.reshape(2, N)
    both = float(multivariate_normal.cdf(norm.ppf([0.5, 0.3]), cov=[[1, 0.2], [0.2, 1]]))
    assert standard_errors((label[0] & label[1]).mean(), both, N) < WITHIN


def test_models_share_key_and_arm_by_key_effects() -> None:
    label = simulate_panel(replace(WIDE, n_models=2, audits=()), 4).truth.label.reshape(2, N, 2)[0]
    both = float(multivariate_normal.cdf([0, 0], cov=[[1, 0.3], [0.3, 1]]))
    assert standard_errors((label[:, 0] & label[:, 1]).mean(), both, N) < WITHIN


@pytest.mark.parametrize("name", PRESETS)
def test_cell_prevalences_average_to_the_declared_ones(name: str) -> None:
    setting, truth = PRESETS[name], simulate_panel(PRESETS[name], 3).truth
    share = np.array([route.share for route in setting.routes])
    # bisection to 1e-14 probits
    assert (truth.prevalence @ share).mean(axis=1) == pytest.approx(setting.prevalence, abs=1e-12)


@pytest.mark.parametrize("name", PRESETS)
def test_cell_error_rates_average_to_the_declared_ones_over_their_class(name: str) -> None:
    setting, truth = PRESETS[name], simulate_panel(PRESETS[name], 3).truth
    share = np.array([route.share for route in setting.routes])
    negative, positive = (1 - truth.prevalence) * share, truth.prevalence * share
    fpr = (negative * truth.fpr).sum(axis=(1, 2)) / negative.sum(axis=(1, 2))
    fnr = (positive * truth.fnr).sum(axis=(1, 2)) / positive.sum(axis=(1, 2))
    assert [*fpr, *fnr] == pytest.approx([*setting.fpr, *setting.fnr], abs=1e-12)


@pytest.mark.parametrize("name", PRESETS)
def test_superpopulation_contrasts_are_the_declared_ones(name: str) -> None:
    setting, truth = PRESETS[name], simulate_panel(PRESETS[name], 3).truth
    declared = dict(zip(setting.arms, setting.prevalence, strict=True))
    found = [truth.contrast(*pair, target="superpopulation") for pair in truth.pairs]
    assert found == pytest.approx([declared[one] - declared[other] for one, other in truth.pairs], abs=1e-12)
    assert len(found) == 15


def test_panel_contrasts_are_those_of_the_labels() -> None:
    made = simulate_panel(PRESETS["routed"], 3)
    share = pd.Series(made.truth.label).groupby(made.table["arm"]).mean()
    assert made.truth.contrast("Authority", "Existence") == pytest.approx(share["Authority"] - share["Existence"])


def test_contrast_bias_is_automatic_minus_true() -> None:
    made = simulate_panel(PRESETS["routed"], 3)
    bias = (made.table["flag"] - made.truth.label).groupby(made.table["arm"]).mean()
    assert made.truth.contrast_bias("Spontaneous", "Neutral") == pytest.approx(bias["Spontaneous"] - bias["Neutral"])


def test_errors_are_equal_over_models_unless_asked() -> None:
    assert np.ptp(simulate_panel(PRESETS["representative"], 3).truth.fpr, axis=1).max() == 0


def test_errors_that_differ_by_model_have_the_stated_sd() -> None:
    setting = replace(PRESETS["model_errors"], n_models=2000, n_keys=1, audits=())
    probit = norm.ppf(simulate_panel(setting, 3).truth.fpr[:, :, 0])
    # sqrt(.3^2 + .5^2) = .583; four standard errors of an sd of 2,000 are 6%
    assert probit.std(axis=1) == pytest.approx(np.full(6, 0.583), rel=0.065)


# ---- audits


def horvitz_thompson(table: pd.DataFrame, values: np.ndarray, audit: str) -> pd.Series:
    """Estimated share of each arm from the rows of one audit."""
    weighted = pd.Series(values / table["probability"]).where(table["audit"] == audit)
    return weighted.groupby(table["arm"], sort=False).sum() / table.groupby("arm", sort=False).size()


SEVERAL = (AuditPlan("paired", "paired", 10), AuditPlan("plain"), AuditPlan("hard", "stress", ratio=4, by_route=True))


@pytest.mark.parametrize("audit", ["paired", "plain", "hard"])
def test_inclusion_probabilities_reproduce_the_prevalences_of_the_panel(audit: str) -> None:
    setting = replace(PRESETS["routed"], audits=SEVERAL)
    made = [simulate_panel(setting, seed) for seed in range(150)]
    miss = np.array([horvitz_thompson(one.table, one.truth.label, audit) - one.truth.panel for one in made])
    assert (np.abs(miss.mean(axis=0)) / (miss.std(axis=0) / np.sqrt(len(made)))).max() < WITHIN


def test_a_stress_audit_without_weights_does_not() -> None:
    made = [simulate_panel(PRESETS["stress"], seed) for seed in range(40)]
    share = [pd.Series(one.truth.label)[one.table["audit"] != ""].groupby(one.table["arm"]).mean() for one in made]
    miss = np.mean([one["Neutral"] for one in share]) - np.mean([one.truth.panel[0] for one in made])
    assert miss > 0.2  # 4 predicted positives to 1 negative where half are positive


def test_stress_weights_sum_to_the_cells_that_were_sampled() -> None:
    table = simulate_panel(PRESETS["stress"]).table
    cell = [table["arm"], table["flag"]]
    assert (1 / table["probability"]).groupby(cell).sum().to_numpy() == pytest.approx(
        table.groupby(cell).size().to_numpy()
    )


def test_predicted_positives_are_four_times_as_likely() -> None:
    table = simulate_panel(replace(PRESETS["stress"], audits=(AuditPlan("stress", "stress", 200, ratio=4),))).table
    chance = table.groupby(["arm", "flag"])["probability"].mean().unstack()
    # numbers of rows are whole: half a row of the smallest cell, about 40
    assert (chance[1] / chance[0]).to_numpy() == pytest.approx(np.full(6, 4.0), rel=0.03)


def test_a_representative_audit_has_eight_rows_of_each_model_in_each_arm() -> None:
    table = simulate_panel(PRESETS["representative"]).table
    audited = table[table["audit"] == "representative"]
    assert set(audited.groupby(["arm", "model"]).size()) == {8}
    assert audited["probability"].to_numpy() == pytest.approx(np.full(288, 8 / 180))


def test_a_stress_audit_by_route_has_as_many_rows_of_each() -> None:
    table = simulate_panel(replace(PRESETS["routed"], audits=SEVERAL)).table
    assert set(table[table["audit"] == "hard"].groupby(["arm", "route"]).size()) == {24}


def test_a_paired_audit_has_the_same_keys_in_every_arm() -> None:
    table = simulate_panel(replace(PRESETS["routed"], audits=SEVERAL)).table
    keys = table[table["audit"] == "paired"].groupby("arm")["item"].agg(frozenset)
    assert len(set(keys)) == 1 and len(keys.iloc[0]) == 10


def test_raters_label_audited_rows_only() -> None:
    table = simulate_panel(PRESETS["stress"]).table
    assert (table["rater_1"].notna() == (table["audit"] != "")).all()


# ---- the same again, and what cannot be


def test_the_same_seed_is_the_same_panel() -> None:
    one, other = (simulate_panel(PRESETS["routed"], 5) for _ in range(2))
    assert one.table.equals(other.table)
    assert np.array_equal(one.truth.label, other.truth.label)


def test_another_seed_is_another_panel() -> None:
    one, other = (simulate_panel(PRESETS["routed"], seed).table["flag"] for seed in (5, 6))
    assert (one != other).mean() > 0.2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fpr": (0.1,)}, "one rate an arm"),
        ({"fnr": (0.0, 0.1)}, "between 0 and 1"),
        ({"raters": (Rater((0.1, 0.1, 0.1), 0.1),)}, "one rate an arm"),
        ({"key_share": 0.8, "arm_key_share": 0.3}, "sum to 1 at most"),
        ({"dependence": (1.0, 0.0)}, "1 excluded"),
        ({"routes": (Route("one", 0.5),)}, "route shares sum to 1"),
        ({"n_models": 0}, "at least one model"),
        ({"audits": (AuditPlan("many", size=N + 1),)}, "more rows than there are"),
        ({"audits": (AuditPlan("many", "stress", N + 1),)}, "more rows than there are"),
        ({"audits": (AuditPlan("many", "paired", N + 1),)}, "more rows than there are"),
        ({"audits": (AuditPlan("one", size=1), AuditPlan("keys", "paired", 1))}, "not the first"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate_panel(replace(WIDE, **changes))


# ---- the bundled case study: printed figures


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return simulate_scorer_audit().table


def confusion(rows: pd.DataFrame) -> dict[str, int]:
    """TP, FP, FN, TN of the scorer against rater 1."""
    flag, rater = rows["flag"] == 1, rows["rater_1"] == 1
    kinds = {"TP": flag & rater, "FP": flag & ~rater, "FN": ~flag & rater, "TN": ~flag & ~rater}
    return {name: int(found.sum()) for name, found in kinds.items()}


def of(audit: str, **values: str) -> Callable[[pd.DataFrame], dict[str, int]]:
    def select(table: pd.DataFrame) -> dict[str, int]:
        keep = (table["audit"] == audit) & (table["set"] != "control")
        for name, value in values.items():
            keep &= table[name] == value
        return confusion(table[keep])

    return select


def precision(count: dict[str, int]) -> float:
    return count["TP"] / (count["TP"] + count["FP"])


def f1(count: dict[str, int]) -> float:
    return 2 * count["TP"] / (2 * count["TP"] + count["FP"] + count["FN"])


def fpr(count: dict[str, int]) -> float:
    return count["FP"] / (count["FP"] + count["TN"])


@pytest.mark.parametrize(
    ("audit", "chosen", "measure", "printed"),
    [
        ("representative", {}, f1, 0.916),
        ("representative", {"arm": "Neutral"}, precision, 0.958),
        ("representative", {"arm": "Authority"}, precision, 0.966),
        ("representative", {"arm": "Spontaneous"}, precision, 0.794),
        ("representative", {"arm": "Spontaneous"}, fpr, 0.333),
        ("representative", {"arm": "Soft cue"}, fpr, 0.026),
        ("stress", {"arm": "Neutral"}, precision, 0.667),
        ("stress", {"arm": "Authority"}, precision, 0.633),
        ("stress", {"arm": "Spontaneous"}, precision, 0.684),
        ("stress", {"route": "judge"}, f1, 0.545),
        ("stress", {"route": "heuristic"}, f1, 0.762),
    ],
)
def test_accuracy_as_printed(
    table: pd.DataFrame, audit: str, chosen: dict[str, str], measure: Callable[..., float], printed: float
) -> None:
    assert round(measure(of(audit, **chosen)(table)), 3) == printed


def test_the_representative_audit_has_the_printed_totals(table: pd.DataFrame) -> None:
    # 164 negatives; F1 = 2 TP / (TP + 124 + FP) = .916 and FPRs in thirds and 39ths leave FP = 18
    assert of("representative")(table) == {"TP": 120, "FP": 18, "FN": 4, "TN": 146}


def test_false_positive_rates_lie_within_the_printed_range(table: pd.DataFrame) -> None:
    rates = [fpr(of("representative", arm=arm)(table)) for arm in PRESETS["representative"].arms]
    assert (round(min(rates), 3), round(max(rates), 3)) == (0.026, 0.333)
    assert rates == pytest.approx(PRESETS["representative"].fpr)


def test_arm_biases_are_the_printed_ones(table: pd.DataFrame) -> None:
    bias = {}
    for arm in PRESETS["representative"].arms:
        count = of("representative", arm=arm)(table)
        bias[arm] = (count["FP"] - count["FN"]) / 48
    assert (round(min(bias.values()), 3), round(max(bias.values()), 3)) == (-0.042, 0.146)
    assert round(bias["Confidence"] - bias["Neutral"], 3) == 0.083
    assert round(bias["Authority"] - bias["Existence"], 3) == -0.021


def test_existence_has_three_false_positives(table: pd.DataFrame) -> None:
    assert of("representative", arm="Existence")(table)["FP"] == 3


def test_the_representative_audit_has_eight_rows_of_each_model_in_each_arm(table: pd.DataFrame) -> None:
    assert set(table[table["audit"] == "representative"].groupby(["arm", "model"]).size()) == {8}


def test_kappa_of_the_two_raters_as_printed(table: pd.DataFrame) -> None:
    rows = table[(table["audit"] == "representative") & table["rater_2"].notna()]
    first, second = (rows[rater].to_numpy(dtype=int) for rater in ("rater_1", "rater_2"))
    assert (len(rows), int((first == second).sum())) == (96, 94)
    assert round(cohens_kappa(pd.crosstab(first, second)).kappa, 3) == 0.958 == round((94 / 96 - 0.5) / 0.5, 3)
    assert not {"Spontaneous", "Soft cue"} & {*rows["arm"]}


@pytest.mark.parametrize(
    ("rater", "treatment", "comparator", "keys", "printed"),
    [
        ("flag", "Certainty-only", "Neutral", 28, 0.093),
        ("flag", "Confidence", "Neutral", 34, 0.113),
        ("rater_1", "Certainty-only", "Neutral", 7, 0.023),
        ("rater_2", "Certainty-only", "Neutral", 7, 0.023),
        ("rater_1", "Confidence", "Neutral", 21, 0.070),
        ("rater_2", "Confidence", "Neutral", 32, 0.107),
        ("rater_1", "Confidence", "Existence x Directness", -50, -0.167),
        ("rater_2", "Confidence", "Existence x Directness", -57, -0.190),
    ],
)
def test_paired_shares_as_printed(
    table: pd.DataFrame, rater: str, treatment: str, comparator: str, keys: int, printed: float
) -> None:
    wide = table[table["audit"] == "paired"].pivot(index=["item", "model"], columns="arm", values=rater)
    difference = int(wide[treatment].sum() - wide[comparator].sum())
    assert (len(wide), difference, round(difference / 300, 3)) == (300, keys, printed)


def test_raters_disagree_on_57_of_1200(table: pd.DataFrame) -> None:
    rows = table[table["audit"] == "paired"]
    by_arm = (rows["rater_1"] != rows["rater_2"]).groupby(rows["arm"]).sum()
    assert (int(by_arm.sum()), int(by_arm.min()), int(by_arm.max())) == (57, 5, 20)


def test_the_pairs_of_authority_and_existence_as_printed(table: pd.DataFrame) -> None:
    wide = table[table["audit"] == "paired-construct"].pivot(index=["item", "model"], columns="arm", values="rater_1")
    assert (len(wide), int((wide["Authority"] - wide["Existence"]).sum())) == (100, 15)


def test_rogan_gladen_gives_the_printed_correction(table: pd.DataFrame) -> None:
    def corrected(arm: str) -> float:
        count = of("representative", arm=arm)(table)
        specificity, sensitivity = 1 - fpr(count), count["TP"] / (count["TP"] + count["FN"])
        flagged = table[(table["audit"] == "paired") & (table["arm"] == arm)]["flag"].mean()
        return float((flagged + specificity - 1) / (sensitivity + specificity - 1))

    assert round(corrected("Confidence") - corrected("Neutral"), 3) == 0.032


def test_the_interval_of_the_correction_as_printed(table: pd.DataFrame) -> None:
    """Monte Carlo from Jeffreys betas of flagged share, sensitivity and specificity, clipped to [0, 1]."""
    rng, draws = np.random.default_rng(1), {}
    for arm in ("Confidence", "Neutral"):
        count = of("representative", arm=arm)(table)
        flagged = int(table[(table["audit"] == "paired") & (table["arm"] == arm)]["flag"].sum())
        share = rng.beta(flagged + 0.5, 300 - flagged + 0.5, 200_000)
        alarm = rng.beta(count["FP"] + 0.5, count["TN"] + 0.5, 200_000)
        hit = rng.beta(count["TP"] + 0.5, count["FN"] + 0.5, 200_000)
        draws[arm] = np.clip((share - alarm) / (hit - alarm), 0, 1)
    interval = np.quantile(draws["Confidence"] - draws["Neutral"], [0.025, 0.975])
    # Monte Carlo error .0005 here, and .0005 of rounding and as much of error in print
    assert interval == pytest.approx([-0.146, 0.197], abs=0.002)


def test_the_printed_test_of_equal_rates_is_not_that_of_the_counts(table: pd.DataFrame) -> None:
    """chi2(5) = 9.10 has p .105, as printed; Pearson's on these counts is larger, for theirs is clustered by item."""
    counts = [of("representative", arm=arm)(table) for arm in PRESETS["representative"].arms]
    expected = [18 / 164 * (count["FP"] + count["TN"]) for count in counts]
    pearson = sum((count["FP"] - e) ** 2 / (e * 146 / 164) for count, e in zip(counts, expected, strict=True))
    assert round(chi2.sf(9.0985, 5), 4) == 0.1052
    assert pearson > 15


def test_sizes_are_the_printed_ones(table: pd.DataFrame) -> None:
    audits = table[table["audit"] != ""].groupby("audit").size().to_dict()
    assert audits == {"representative": 288, "stress": 550, "paired": 1200, "paired-construct": 200}
    assert table.groupby("set").size().to_dict() == {"panel": 6480, "control": 72, "factorial": 1400}
    assert table[table["set"] == "panel"][["model", "item", "arm"]].nunique().tolist() == [6, 180, 6]


def test_printed_figures_hold_for_another_seed_too() -> None:
    made = simulate_scorer_audit(1)
    rows = made.table[made.table["audit"] == "paired"]
    assert rows.groupby("arm")["rater_1"].sum().to_dict() == {
        "Neutral": 112, "Certainty-only": 119, "Confidence": 133, "Existence x Directness": 183
    }  # fmt: skip
    assert not made.table["flag"].equals(simulate_scorer_audit().table["flag"])


def test_stress_weights_reproduce_the_panel(table: pd.DataFrame) -> None:
    panel = table[table["set"] == "panel"]
    weight = (1 / panel["probability"]).where(panel["audit"] == "stress")
    # 1,032 rows of an arm were left by the representative audit, each with probability 172/180: 1,080 exactly
    assert weight.groupby(panel["arm"]).sum().to_numpy() == pytest.approx(np.full(6, 1080), rel=1e-12)


def test_true_labels_are_the_raters_where_they_agree() -> None:
    made = simulate_scorer_audit()
    agreed = (made.table["rater_1"] == made.table["rater_2"]).fillna(value=False).to_numpy(dtype=bool)
    assert (made.label[agreed] == made.table["rater_1"][agreed]).all()


def test_where_raters_differ_each_is_right_about_half_the_time() -> None:
    made = simulate_scorer_audit()
    rows = (made.table["audit"] == "paired") & (made.table["rater_1"] != made.table["rater_2"])
    right = (made.label[rows] == made.table["rater_1"][rows]).sum()
    assert (int(rows.sum()), int(right)) == (57, 30)  # the odd one of an arm and direction goes to rater 1


# ---- the bundled study


def test_the_bundled_file_is_the_generators_output(table: pd.DataFrame) -> None:
    study = read_scorer_study(find_study("scorer-audit"))
    assert gzip.decompress(study.data.read_bytes()).decode() == csv_text(table)


def test_the_bundled_file_is_small() -> None:
    assert read_scorer_study(find_study("scorer-audit")).data.stat().st_size < 200_000


def test_the_bundled_study_says_that_it_is_simulated() -> None:
    study = read_scorer_study(find_study("scorer-audit"))
    assert study.simulated
    assert "SIMULATED" in study.title


def test_the_reader_takes_the_bundled_study_without_the_control_layer() -> None:
    labels = read_labels(read_scorer_study(find_study("scorer-audit")))
    assert (labels.n_rows, int(labels.audited.sum()), int(labels.in_target.sum())) == (7880, 288 + 478 + 1400, 1400)


def test_the_contrasts_are_the_four_of_the_case_study() -> None:
    study = read_scorer_study(find_study("scorer-audit"))
    declared = {
        contrast.name: (contrast.tolerance_pp, contrast.success, contrast.same_construct)
        for contrast in study.contrasts
    }
    assert declared == {
        "Certainty-only - Neutral": (5.0, "sign", True),
        "Confidence - Neutral": (5.0, "sign", True),
        "Confidence - Existence x Directness": (5.0, "sign", True),
        "Authority - Existence": (5.0, "sign", False),
    }


@pytest.mark.parametrize(
    ("rater", "treatment", "comparator", "positive"),
    [
        ("rater_1", "Certainty-only", "Neutral", (0.5, 0.95)),  # withheld: its sign is not established
        ("rater_2", "Certainty-only", "Neutral", (0.5, 0.95)),
        ("rater_1", "Confidence", "Neutral", (0.95, 1.0)),
        ("rater_2", "Confidence", "Neutral", (0.95, 1.0)),
        ("rater_1", "Confidence", "Existence x Directness", (0.0, 0.05)),
        ("rater_2", "Confidence", "Existence x Directness", (0.0, 0.05)),
    ],
)
def test_new_items_decide_as_published(
    table: pd.DataFrame, rater: str, treatment: str, comparator: str, positive: tuple[float, float]
) -> None:
    """P(contrast > 0) over new items by the Bayesian bootstrap of items, each rater taken for the truth."""
    wide = table[table["audit"] == "paired"].pivot(index=["item", "model"], columns="arm", values=rater).astype(float)
    by_item = (wide[treatment] - wide[comparator]).groupby("item").mean().to_numpy()
    share = (np.random.default_rng(1).dirichlet(np.ones(50), 20_000) @ by_item > 0).mean()
    assert positive[0] <= share <= positive[1]
