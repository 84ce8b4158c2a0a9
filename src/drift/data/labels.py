"""Labels: every row of a scorer study validated, coded by level, and still knowing its line in the file."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from drift.data.label_rows import (
    NOT_AUDITED,
    NOT_RATED,
    BoolArray,
    LabelArray,
    LabelRows,
    check_cells,
    check_names,
    check_outside,
    is_audited,
    read_label_rows,
    stratum_roles,
)
from drift.data.levels import Codes, Levels, coded, factor_variables, level_coords
from drift.data.rows import Rows
from drift.data.scorer_declaration import BINARY, LABEL_FACTORS, UNDECLARED, ScorerStudy
from drift.scale import FloatArray, IntArray, Scale


@dataclass(frozen=True)
class Labels:
    """Validated labels of a scorer study.

    `scorer`: (row,) labels 0 or 1, or codes of the declared `scale`, 0 the worst. `rating`: (row, rater) likewise, -1
    where that rater did not label the row.
    `codes`: factor -> (row,) level codes, factors key, arm, model, stratum, population; a factor without a column has
    the one level "all". `levels`: factor -> names in natural order.
    `audit`: (row,) code into `audits`, -1 for a row that no rater labelled. `inclusion`: (row,) probability of
    inclusion in the audit, NaN unknown. `line`: (row,) line in the source file. `target`: code of the target
    population. `dropped`: arm -> rows left out for want of a scorer label. `unrated`: audit -> rows that belong to it
    and that no rater labelled. `digest`: SHA-256 of the data file.
    """

    scorer: LabelArray
    rating: LabelArray
    codes: Codes
    levels: Levels
    raters: tuple[str, ...]
    audit: IntArray
    audits: tuple[str, ...]
    inclusion: FloatArray
    line: IntArray
    source: str
    digest: str
    dropped: Mapping[str, int]
    target: int
    unrated: Mapping[str, int]
    scale: Scale = BINARY

    @property
    def n_rows(self) -> int:
        return len(self.scorer)

    @property
    def audited(self) -> BoolArray:
        """(row,) whether at least one rater labelled it."""
        return is_audited(self.rating)

    @property
    def in_target(self) -> BoolArray:
        """(row,) whether it belongs to the target population."""
        return np.asarray(self.codes["population"] == self.target)

    def to_dataset(self) -> xr.Dataset:
        """The labels as a dataset that NetCDF takes: `<factor>_index`, `scorer`, `rating` and more along `row`."""
        return xr.Dataset(
            {
                **factor_variables(self.codes, "row"),
                "scorer": ("row", self.scorer),
                "rating": (("row", "rater"), self.rating),
                "audit_index": ("row", self.audit.astype(np.int32)),
                "inclusion": ("row", self.inclusion),
            },
            {"row": self.line, **level_coords(self.levels), "rater": np.array(self.raters, dtype=np.str_)},
            {
                "source": self.source,
                "source_digest": self.digest,
                "audits": json.dumps(self.audits),
                "target_population": self.target,
                "dropped": json.dumps(dict(self.dropped)),
                "unrated": json.dumps(dict(self.unrated)),
                "labels": json.dumps(self.scale.labels),
            },
        )

    @classmethod
    def from_dataset(cls, data: xr.Dataset) -> "Labels":
        """The labels that `to_dataset` wrote."""
        return cls(
            scorer=data["scorer"].to_numpy().astype(np.int8),
            rating=data["rating"].to_numpy().astype(np.int8),
            codes={factor: data[f"{factor}_index"].to_numpy().astype(np.int64) for factor in LABEL_FACTORS},
            levels={factor: tuple(map(str, data[factor].to_numpy())) for factor in LABEL_FACTORS},
            raters=tuple(map(str, data["rater"].to_numpy())),
            audit=data["audit_index"].to_numpy().astype(np.int64),
            audits=tuple(json.loads(data.attrs["audits"])),
            inclusion=data["inclusion"].to_numpy().astype(np.float64),
            line=data["row"].to_numpy().astype(np.int64),
            source=str(data.attrs["source"]),
            digest=str(data.attrs["source_digest"]),
            dropped=json.loads(data.attrs["dropped"]),
            target=int(data.attrs["target_population"]),
            unrated=json.loads(data.attrs["unrated"]),
            scale=Scale(tuple(json.loads(data.attrs.get("labels", json.dumps(BINARY.labels))))),
        )


@dataclass(frozen=True)
class KeyMatches:
    """Keys of two arms: how many are in both, how many in one only."""

    both: int
    only_a: int
    only_b: int


def read_labels(study: ScorerStudy) -> Labels:
    """The study's labels, validated. Raises one `InputError` that lists every bad row.

    Rows without a scorer label are refused unless the study declares `missing = "drop"`. Rater labels on a row of no
    audit belong to the one that is declared; with several declared they are refused.
    """
    read = read_label_rows(study)
    codes, levels = _factors(read.rows, study)
    check_names(study, codes, levels)
    labels = Labels(
        scorer=read.scorer,
        rating=read.rating,
        codes=codes,
        levels=levels,
        raters=study.columns.raters,
        audit=np.where(read.audited, read.audit, NOT_AUDITED),
        audits=tuple(audit.name for audit in study.audits),
        inclusion=read.inclusion,
        line=read.rows.line,
        source=read.rows.source,
        digest=read.rows.digest,
        dropped=read.dropped,
        target=levels["population"].index(study.target.population or UNDECLARED),
        unrated=_unrated(read, study),
        scale=study.scale,
    )
    check_outside(study, read.rows, labels.audited & ~labels.in_target)
    check_cells(study, codes, levels, labels.in_target)
    return labels


def mask_raters(labels: Labels, keep: Collection[str]) -> Labels:
    """The labels as if only the raters named in `keep` had labelled; rows that nobody then labelled are not audited.

    Raises `ValueError` for a rater that there is not.
    """
    unknown = sorted({*keep} - {*labels.raters})
    if unknown:
        raise ValueError(f"no rater {', '.join(unknown)}; raters are {', '.join(labels.raters)}")
    kept = np.array([rater in keep for rater in labels.raters], dtype=bool)
    rating = np.where(kept, labels.rating, NOT_RATED).astype(np.int8)
    masked = replace(labels, rating=rating)
    return replace(masked, audit=np.where(masked.audited, labels.audit, NOT_AUDITED))


def rater_arm_counts(labels: Labels) -> IntArray:
    """(arm, rater) rows that each rater labelled in each arm; 0 where a rater is absent from a whole arm."""
    count = np.zeros((len(labels.levels["arm"]), len(labels.raters)), dtype=np.int64)
    np.add.at(count, labels.codes["arm"], (labels.rating != NOT_RATED).astype(np.int64))
    return count


def key_matches(labels: Labels, arm_a: str, arm_b: str) -> KeyMatches:
    """How many keys of the target population two arms share, and how many are in one of them only.

    Raises `ValueError` for an arm that there is not.
    """
    in_a, in_b = (_keys(labels, arm) for arm in (arm_a, arm_b))
    return KeyMatches(both=int((in_a & in_b).sum()), only_a=int((in_a & ~in_b).sum()), only_b=int((in_b & ~in_a).sum()))


def _keys(labels: Labels, arm: str) -> BoolArray:
    """(key,) whether the arm has it in the target population."""
    if arm not in labels.levels["arm"]:
        raise ValueError(f"no arm {arm}; arms are {', '.join(labels.levels['arm'])}")
    code = labels.levels["arm"].index(arm)
    found = np.zeros(len(labels.levels["key"]), dtype=bool)
    found[labels.codes["key"][labels.in_target & (labels.codes["arm"] == code)]] = True
    return found


def _unrated(read: LabelRows, study: ScorerStudy) -> dict[str, int]:
    """Audit -> rows that belong to it without a rater's label."""
    code = read.audit[~read.audited & (read.audit != NOT_AUDITED)]
    count = np.bincount(code, minlength=len(study.audits)).tolist()
    return {audit.name: rows for audit, rows in zip(study.audits, count, strict=True) if rows}


def _factors(rows: Rows, study: ScorerStudy) -> tuple[Codes, Levels]:
    """Codes and levels of every factor."""
    one = (np.zeros(len(rows), dtype=np.int64), (UNDECLARED,))
    both = {
        factor: coded(rows.values[factor]) if factor in rows.values else one
        for factor in LABEL_FACTORS
        if factor != "stratum"
    }
    roles = stratum_roles(study)
    both["stratum"] = _strata(rows, roles) if roles else one
    ordered = {factor: both[factor] for factor in LABEL_FACTORS}
    return {name: code for name, (code, _) in ordered.items()}, {name: levels for name, (_, levels) in ordered.items()}


def _strata(rows: Rows, roles: Sequence[str]) -> tuple[IntArray, tuple[str, ...]]:
    """Codes and names of the combinations of texts that occur: "short", or "short, hard" of several columns."""
    code, names = coded(rows.values[roles[0]])
    for role in roles[1:]:
        more, added = coded(rows.values[role])
        pairs, code = np.unique(code * len(added) + more, return_inverse=True)
        names = tuple(f"{names[pair // len(added)]}, {added[pair % len(added)]}" for pair in pairs)
    return code.astype(np.int64), names
