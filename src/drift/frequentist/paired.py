"""The contrast of two arms on the same keys: what differs between two responses to one key by one model."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from statsmodels.regression.linear_model import WLS
from statsmodels.stats.contingency_tables import mcnemar

from drift.frequentist.estimate import COLLAPSED, DIFFERENCE, LEVEL, Estimate, bounded, joined, undefined
from drift.frequentist.share import UNAUDITED
from drift.frequentist.weighting import mixture_weight
from drift.scale import FloatArray, IntArray


@dataclass(frozen=True)
class Pairs:
    """Labels of two arms on the keys x models that both have.

    `treatment`, `comparator`: (pair,) label, or share of label 1 where a response has replicates. `key`, `model`:
    (pair,) codes. `treatment_only`, `comparator_only`: keys x models that one arm alone has, which are not used.
    """

    treatment: FloatArray
    comparator: FloatArray
    key: IntArray
    model: IntArray
    treatment_only: int
    comparator_only: int

    @property
    def n(self) -> int:
        return len(self.treatment)

    @property
    def n_keys(self) -> int:
        return len(np.unique(self.key))

    @property
    def note(self) -> str:
        left_out = self.treatment_only + self.comparator_only
        if not left_out:
            return ""
        return f"not in both arms: {self.treatment_only} of the treatment, {self.comparator_only} of the comparator"


@dataclass(frozen=True)
class McNemar:
    """McNemar's exact test. `treatment_only`, `comparator_only`: pairs in which that arm alone has label 1."""

    treatment_only: int
    comparator_only: int
    p_value: float
    n: int
    note: str = ""


def pairs(treatment: Mapping[str, ArrayLike], comparator: Mapping[str, ArrayLike]) -> Pairs:
    """Pairs of two arms, each given as (row,) "label" 0, 1 or -1 unknown, "key" codes and "model" codes.

    Rows without a label are left out; replicates of a key by a model are averaged.
    """
    one, other = (_means(arm) for arm in (treatment, comparator))
    both = one.index.intersection(other.index).sort_values()
    key, model = (both.get_level_values(level).to_numpy(dtype=np.int64) for level in ("key", "model"))
    return Pairs(
        np.asarray(one.loc[both], dtype=np.float64),
        np.asarray(other.loc[both], dtype=np.float64),
        key,
        model,
        len(one) - len(both),
        len(other) - len(both),
    )


def paired_difference(
    of: Pairs,
    wanted: Mapping[int, float] | None = None,
    level: float = LEVEL,
    method: str = "paired (clustered by key)",
) -> Estimate:
    """Mean difference of pairs, standard error clustered by key (liang1986), t with keys - 1 degrees of freedom.

    Models weigh as in `wanted`, code -> weight; None weighs the models that occur alike. The variance is the sum of
    squared key totals of weighted residuals, times keys / (keys - 1).
    """
    if of.n_keys < 2:
        why = f"{of.n_keys} keys in both arms: no standard error"
        return undefined(DIFFERENCE, level, method, of.n, joined([why, of.note]))
    weight = mixture_weight(of.model, wanted)
    each = of.treatment - of.comparator
    if np.ptp(each) == 0.0:
        return bounded(each[0], (each[0], each[0]), DIFFERENCE, level, method, of.n, joined([of.note, COLLAPSED]))
    cluster = {"groups": of.key, "use_correction": True}
    fit = WLS(each, np.ones((of.n, 1)), weights=weight).fit(cov_type="cluster", cov_kwds=cluster, use_t=True)
    limits = fit.conf_int(alpha=1.0 - level)[0]
    return bounded(float(fit.params[0]), (limits[0], limits[1]), DIFFERENCE, level, method, of.n, of.note)


def exact_mcnemar(of: Pairs) -> McNemar:
    """McNemar's exact test (mcnemar1947) on the pairs that differ; pairs with averaged replicates are left out.

    Two-sided p, twice the smaller binomial tail and at most 1. It takes the pairs for independent: several models on
    one key make it too sharp, and `paired_difference` does not.
    """
    whole = np.isin(of.treatment, (0.0, 1.0)) & np.isin(of.comparator, (0.0, 1.0))
    up = int((whole & (of.treatment > of.comparator)).sum())
    down = int((whole & (of.treatment < of.comparator)).sum())
    averaged = f"pairs with replicates that differ left out: {int((~whole).sum())}" if not whole.all() else ""
    p_value = float(mcnemar([[0, up], [down, 0]], exact=True).pvalue) if up + down else 1.0
    return McNemar(up, down, min(p_value, 1.0), int(whole.sum()), joined([averaged, of.note]))


def _means(arm: Mapping[str, ArrayLike]) -> "pd.Series[float]":
    """Mean label by key and model."""
    table = pd.DataFrame({name: np.asarray(arm[name], dtype=np.int64) for name in ("label", "key", "model")})
    known = table[table["label"] != UNAUDITED]
    return known.groupby(["key", "model"])["label"].mean()
