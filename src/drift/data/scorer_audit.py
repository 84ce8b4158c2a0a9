"""The SIMULATED labels of the bundled study `scorer-audit`: seed 002's case study, from the figures that it prints.

Its labels were never released. Printed counts hold exactly in the file; everything else is drawn or chosen.

| figure | printed | here |
|---|---|---|
| panel | 6 models x 180 items x 6 arms | 6,480 rows, set "panel" |
| representative audit | 288, 48 an arm, 8 a model; 164 negatives; F1 .916; FPR .026 to .333 | `REPRESENTATIVE` |
| its precision | Neutral .958, Authority .966, Spontaneous .794 | 23/24, 28/29, 27/34 |
| its bias (FP - FN)/48 | -.042 to +.146; Confidence - Neutral +.083, Authority - Existence -.021 | likewise |
| two raters on 96 of them | 94/96 agree, kappa .958; not Spontaneous, Soft cue | 24 in each other arm, 48 positive |
| stress audit | 550 labels, 478 in the six arms, 72 of a control layer | likewise; the control layer is set "control" |
| its precision | Neutral .667, Authority .633, Spontaneous .684 | 6/9, 19/30, 13/19 |
| its F1 | routed .545, heuristic only .762 | 48/88, 64/84 (that these are of this audit: read so) |
| paired audit | 300 keys x 4 arms, two raters | 50 items x 6 models, set "factorial" |
| its contrasts, rater 1 | +.023, +.070, -.167 | 7/300, 21/300, -50/300 |
| its contrasts, rater 2 | +.023, +.107, -.190 | 7/300, 32/300, -57/300 |
| its contrasts, scorer | +.093, +.113, none printed | 28/300, 34/300, -43/300 (chosen) |
| its disagreements | 57/1,200, arms .017 to .067 | 5, 15, 20, 17 of 300 |
| Rogan-Gladen, Confidence - Neutral | .032 | .0320: scorer 119 and 153 of 300, errors of the representative audit |
| Authority - Existence, rater 1 | +.150, 100 pairs | 15/100: 55 against 40 |

What the print fixes. F1 and 164 negatives give TP 120, FP 18, FN 4; precisions, biases and Existence's three false
positives then fix every count of the representative audit but the negatives of Soft cue (38 or 39), Confidence and
Existence; .032 with its interval, [-.146, .197], takes 28 for Confidence.

What cannot hold together, or does not follow. (1) Both audits' precisions, under one error rate an arm: here routed
responses have more errors and more of them are in the stress audit; given arm, route and scorer label the two audits
agree as chance allows (permutation p .84). (2) chi2(5) = 9.10 is not Pearson's on any table with the printed precisions
and biases (15.2 at least): it was clustered by item, and only its p, .105, follows. (3) The interval of Certainty-only
- Neutral, [-.059, .053], lies oddly about .023: not reproduced; here it is [-.02, .07] (items redrawn). (4) Where the
100 pairs of Authority - Existence come from is not said: they are in the set "factorial", for a contrast needs both
its arms in the target. (5) F1 of .545 and .762 needs few true positives: the stress audit has 391 predicted negatives
of 478 and is declared as sampled on arm, route and scorer label. (6) Chosen: false positives and negatives of the
paired audits, negatives of the stress audit, routing shares (.20), counts of the control layer, item and model effects.

True labels: the raters' where they agree; where they differ either is right in half of the cases; of rows that only
rater 1 labelled, .15 of those where the scorer differs go to the scorer.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from drift.data.simulate_audits import BoolArray, sampled
from drift.data.simulate_labels import PRESETS, SEED, Route, normal, simulate_panel
from drift.scale import FloatArray, IntArray

Counts = dict[str, tuple[int, int, int, int]]  # TP, FP, FN, TN of the scorer against rater 1

# of heuristic and of routed responses
REPRESENTATIVE: tuple[Counts, Counts] = (
    {
        "Neutral": (18, 1, 0, 20),
        "Authority": (23, 0, 0, 16),
        "Spontaneous": (22, 4, 0, 12),
        "Soft cue": (5, 0, 2, 31),
        "Confidence": (16, 3, 0, 19),
        "Existence": (13, 2, 0, 23),
    },
    {
        "Neutral": (5, 0, 0, 4),
        "Authority": (5, 1, 0, 3),
        "Spontaneous": (5, 3, 0, 2),
        "Soft cue": (1, 1, 1, 7),
        "Confidence": (4, 2, 0, 4),
        "Existence": (3, 1, 1, 5),
    },
)
STRESS: tuple[Counts, Counts] = (
    {
        "Neutral": (3, 0, 1, 29),
        "Authority": (10, 1, 3, 39),
        "Spontaneous": (8, 2, 1, 31),
        "Soft cue": (2, 1, 3, 37),
        "Confidence": (6, 2, 3, 48),
        "Existence": (3, 1, 2, 43),
    },
    {
        "Neutral": (3, 3, 2, 19),
        "Authority": (9, 10, 4, 24),
        "Spontaneous": (5, 4, 2, 17),
        "Soft cue": (1, 1, 2, 21),
        "Confidence": (4, 4, 4, 29),
        "Existence": (2, 2, 2, 25),
    },
)
TWICE_RATED = {"Neutral": 12, "Authority": 14, "Confidence": 11, "Existence": 11}  # of 24 an arm, positive by rater 1


@dataclass(frozen=True)
class Arm:
    """Counts of an arm that is audited throughout.

    `positive` by rater 1; the scorer's false positives and negatives against rater 1; labels that rater 2 has `higher`
    and `lower` than rater 1, both 0 where there is no rater 2.
    """

    name: str
    positive: int
    false_positive: int
    false_negative: int
    higher: int = 0
    lower: int = 0


FACTORIAL = (
    Arm("Neutral", 112, 10, 3, 1, 4),
    Arm("Certainty-only", 119, 34, 6, 6, 9),
    Arm("Confidence", 133, 24, 4, 14, 6),
    Arm("Existence x Directness", 183, 19, 6, 16, 1),
)
PAIRS = (Arm("Authority", 55, 2, 1), Arm("Existence", 40, 5, 1))
CONTROL = Arm("Control", 6, 4, 2)
N_MODELS = 6
N_KEYS = {"control": 72, "factorial": 300, "pair": 100}  # items x models, the last item of the pairs with 4 models
ITEM_SD, KEY_SD, ARM_ITEM_SD, OWN_SD = 1.0, 1.0, 0.3, 0.5  # of the latent scale whose largest values are positive
ROUTED, ROUTED_ERRORS = 0.18, 0.45  # share of the judge among right and wrong scorer labels
SCORER_RIGHT = 0.15  # P(the scorer is right | it differs from the only rater)
RATER_1, RATER_2 = "rater_1", "rater_2"
ROUTES = ("heuristic", "judge")
COLUMNS = ["item", "model", "arm", "route", "flag", RATER_1, RATER_2, "audit", "probability", "set"]


@dataclass(frozen=True)
class ScorerAudit:
    """`table`: a response a row, columns as in the bundled file. `label`: (row,) true label."""

    table: pd.DataFrame
    label: IntArray


def simulate_scorer_audit(seed: int = SEED) -> ScorerAudit:
    """The bundled study's labels, drawn afresh for another seed; printed counts hold for every seed."""
    rng = np.random.default_rng([seed, 2])
    parts = [
        _panel(seed, rng),
        _fully_rated(rng, (CONTROL,), "control", "stress"),
        _fully_rated(rng, FACTORIAL, "factorial", "paired"),
        _fully_rated(rng, PAIRS, "pair", "paired-construct"),
    ]
    whole = pd.concat(parts, ignore_index=True)
    whole["set"] = whole["set"].replace("pair", "factorial")
    label = whole.pop("label").to_numpy(dtype=np.int64)
    return ScorerAudit(whole[COLUMNS], label)


def csv_text(table: pd.DataFrame) -> str:
    """The table as the bundled file has it, probabilities to six digits."""
    return table.to_csv(index=False, lineterminator="\n", float_format="%.6g")


def _panel(seed: int, rng: np.random.Generator) -> pd.DataFrame:
    """The 6,480 responses. Rows of both audits are drawn first, and the counts of an arm dealt to them at random."""
    routes = (Route(ROUTES[0], 0.8), Route(ROUTES[1], 0.2, fpr=0.75, fnr=0.6))
    made = simulate_panel(replace(PRESETS["representative"], routes=routes, raters=(), audits=()), seed)
    table = made.table.assign(label=made.truth.label, set="panel", audit="", probability=np.nan)
    for rater in (RATER_1, RATER_2):
        table[rater] = pd.array([pd.NA] * len(table), dtype="Int64")
    arm, model = (table[name].factorize()[0] for name in ("arm", "model"))
    free = np.ones(len(table), dtype=bool)
    representative = sampled(arm * N_MODELS + model, np.full(6 * N_MODELS, 8), free, rng)
    size = [sum(map(sum, (part[name] for part in STRESS))) for name in made.truth.arms]
    stress = sampled(arm, np.array(size), ~representative, rng)
    _deal(table, representative, REPRESENTATIVE, "representative", rng)
    _deal(table, stress, STRESS, "stress", rng)
    _rate_twice(table, rng)
    once = table[RATER_1].notna() & table[RATER_2].isna()
    wrong = once & (table["flag"] != table[RATER_1]) & (rng.random(len(table)) < SCORER_RIGHT)
    table.loc[once, "label"] = table.loc[once, RATER_1].to_numpy(dtype=np.int64) ^ wrong[once].to_numpy()
    _record_inclusion(table)
    return table


def _deal(
    table: pd.DataFrame, chosen: BoolArray, counts: tuple[Counts, Counts], name: str, rng: np.random.Generator
) -> None:
    """Fill route, scorer and rater 1 of the chosen rows with the counts of their arm, in random order."""
    for arm in counts[0]:
        rows = np.flatnonzero(chosen & (table["arm"] == arm).to_numpy())
        kinds = np.array([(1, 1), (1, 0), (0, 1), (0, 0)])  # scorer, rater 1
        deck = np.vstack(
            [
                np.repeat(np.column_stack([kinds, np.full(4, route)]), part[arm], axis=0)
                for route, part in enumerate(counts)
            ]
        )[np.argsort(rng.random(len(rows)))]
        table.loc[rows, "flag"] = deck[:, 0]
        table.loc[rows, RATER_1] = deck[:, 1]
        table.loc[rows, "route"] = np.array(ROUTES, dtype=object)[deck[:, 2]]
        table.loc[rows, "audit"] = name


def _rate_twice(table: pd.DataFrame, rng: np.random.Generator) -> None:
    """Rater 2 on 96 rows of the representative audit: as rater 1 but for one label in each direction."""
    seen = []
    for arm, positive in TWICE_RATED.items():
        for value, count in ((1, positive), (0, 24 - positive)):
            rows = table.index[(table["audit"] == "representative") & (table["arm"] == arm) & (table[RATER_1] == value)]
            seen += list(_some(rows.to_numpy(), count, rng))
    table.loc[seen, RATER_2] = table.loc[seen, RATER_1]
    table.loc[seen, "label"] = table.loc[seen, RATER_1].to_numpy(dtype=np.int64)
    rated = table.loc[seen]
    for value in (0, 1):
        agreed = rated.index[(rated[RATER_1] == value) & (rated["flag"] == value)]
        table.loc[_some(agreed.to_numpy(), 1, rng), RATER_2] = 1 - value


def _record_inclusion(table: pd.DataFrame) -> None:
    """Representative: 8 of 180. Stress: not in that one, then its share of arm x route x scorer label."""
    first = 8 / 180
    rest = table[table["audit"] != "representative"]
    share = (rest["audit"] == "stress").groupby([rest["arm"], rest["route"], rest["flag"]]).transform("mean")
    table.loc[rest.index, "probability"] = ((1 - first) * share).where(rest["audit"] == "stress")
    table.loc[table["audit"] == "representative", "probability"] = first


def _fully_rated(rng: np.random.Generator, arms: tuple[Arm, ...], name: str, audit: str) -> pd.DataFrame:
    """Responses of 6 models that are all audited, on the same keys in every arm: key = item x model.

    Latent value: item + key + arm x item + the response's own, normal; the arm's largest are positive by rater 1.
    """
    n_keys = N_KEYS[name]
    item, model = np.divmod(np.arange(n_keys), N_MODELS)
    n_items = int(item.max()) + 1
    shared = ITEM_SD * normal(rng, n_items)[item] + KEY_SD * normal(rng, n_keys)
    parts = []
    for arm in arms:
        latent = shared + ARM_ITEM_SD * normal(rng, n_items)[item] + OWN_SD * normal(rng, n_keys)
        labels = _labels(arm, latent, rng)
        wrong = labels["flag"] != labels[RATER_1]
        routed = rng.random(n_keys) < np.where(wrong, ROUTED_ERRORS, ROUTED)
        names = {
            "item": np.array([f"{name}-{place + 1:02d}" for place in range(n_items)], dtype=object)[item],
            "model": np.array([f"model-{place}" for place in range(1, N_MODELS + 1)], dtype=object)[model],
            "arm": arm.name,
            "route": np.array(ROUTES, dtype=object)[routed.astype(np.int64)],
            "audit": audit,
            "probability": np.nan if name == "control" else 1.0,
            "set": name,
        }
        parts.append(pd.DataFrame({**names, **labels}))
    return pd.concat(parts, ignore_index=True)


def _labels(arm: Arm, latent: FloatArray, rng: np.random.Generator) -> dict[str, IntArray | pd.Series]:
    """True label, scorer and raters of one arm: (key,) each.

    Where the raters differ rater 1 is wrong in half of the cases, and there the scorer is right.
    """
    first = (np.argsort(np.argsort(-latent)) < arm.positive).astype(np.int64)
    higher, lower = (
        _some(np.flatnonzero(first == value), count, rng) for value, count in ((0, arm.higher), (1, arm.lower))
    )
    second, label, scorer = first.copy(), first.copy(), first.copy()
    second[np.r_[higher, lower]] ^= 1
    mistaken = np.r_[higher[: len(higher) // 2], lower[: len(lower) // 2]]
    label[mistaken] ^= 1
    scorer[mistaken] ^= 1
    settled = first == second
    for value, count in ((0, arm.false_positive - len(higher) // 2), (1, arm.false_negative - len(lower) // 2)):
        scorer[_some(np.flatnonzero(settled & (first == value)), count, rng)] ^= 1
    twice = pd.Series(second, dtype="Int64") if higher.size else pd.Series([pd.NA] * len(first), dtype="Int64")
    if not higher.size:
        label = np.where((scorer != first) & (rng.random(len(first)) < SCORER_RIGHT), scorer, first)
    return {"label": label, "flag": scorer, RATER_1: pd.Series(first, dtype="Int64"), RATER_2: twice}


def _some(rows: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """`count` of the rows at random."""
    assert 0 <= count <= len(rows)
    return rows[np.argsort(rng.random(len(rows)))[:count]]
