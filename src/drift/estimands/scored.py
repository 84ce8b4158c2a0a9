"""What a scorer study's posterior file holds, as plain arrays, and the probability that a response's truth is 1."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtri

from drift.errors import DriftError
from drift.estimands.quadrature import Floats, normal_nodes
from drift.estimands.terms import SAMPLE, Ints
from drift.likelihood.pattern_probability import joint_probability

FACTORS = ("arm", "model", "stratum", "population", "key", "rater")
N_NODES = 15  # of the shared factor: exact to 1e-6 for rho up to .8
BLOCK = 4_000_000  # numbers held at a time, 32 MB: nothing of rows x draws, or patterns x draws x nodes, is kept whole

Labels = NDArray[np.int8]
Flags = NDArray[np.bool_]


class NoVariantError(DriftError):
    """A result was asked of a sensitivity variant that the posterior file does not have."""


@dataclass(frozen=True)
class Scored:
    """Draws of a misclassification model and the labels that it was fitted to. Draws: chain-major, chain x draw.

    prevalence, fpr, fnr: (draw, cell) P(truth 1), P(scorer 1 | truth 0), P(scorer 0 | truth 1). rater_fpr, rater_fnr:
    (draw, arm, rater). dependence: (draw, 2) rho of truth 0 and 1, or None. shares: (test,) the tests that share the
    error factor, scorer first. reference: (rater,) who is taken as the truth.
    cell_<factor>: (cell,) codes. pattern_cell, pattern_count: (pattern,). pattern_label: (pattern, test), -1 not seen.
    row_<factor>, row_pattern: (row,). target: code of the target population. seed: of everything that is imputed.
    """

    prevalence: Floats
    fpr: Floats
    fnr: Floats
    rater_fpr: Floats
    rater_fnr: Floats
    dependence: Floats | None
    shares: Flags
    reference: Flags
    cell_arm: Ints
    cell_model: Ints
    cell_stratum: Ints
    cell_population: Ints
    pattern_cell: Ints
    pattern_label: Labels
    pattern_count: Ints
    row_pattern: Ints
    row_key: Ints
    row_arm: Ints
    row_model: Ints
    row_population: Ints
    target: int
    levels: Mapping[str, tuple[str, ...]]
    n_chains: int
    seed: int

    @property
    def n_draws(self) -> int:
        """Draws of all chains together."""
        return len(self.prevalence)

    @cached_property
    def truth(self) -> Floats:
        """(draw, pattern) `truth_probability`, kept: every imputation needs it."""
        return truth_probability(self)

    @property
    def pattern_target(self) -> Flags:
        """(pattern,) whether it belongs to the target population."""
        return np.asarray(self.cell_population[self.pattern_cell] == self.target)

    @property
    def is_prior(self) -> bool:
        """Whether no label was seen, so that the scorer's labels are to be drawn too."""
        return bool((self.pattern_label[:, 0] < 0).any())

    @property
    def row_label(self) -> Labels:
        """(row,) the scorer's label, -1 where it is not known (draws of the prior)."""
        return np.asarray(self.pattern_label[self.row_pattern, 0])

    def rng(self, stream: int) -> np.random.Generator:
        """A generator of its own for each purpose, the same whenever the same file is read."""
        return np.random.default_rng([self.seed, stream])

    def blocks(self, width: int) -> Iterator[slice]:
        """Consecutive draws, as many at a time as keep `width` numbers a draw below `BLOCK`."""
        size = max(1, BLOCK // max(1, width))
        return (slice(start, min(start + size, self.n_draws)) for start in range(0, self.n_draws, size))

    def draws(
        self, values: Floats, dims: tuple[str, ...], coords: Mapping[str, Any], name: str, **attrs: Any
    ) -> xr.DataArray:
        """(draw, ...) values as labelled draws (chain, draw, ...)."""
        shape = (self.n_chains, self.n_draws // self.n_chains)
        numbered = {dim: np.arange(size) for dim, size in zip(SAMPLE, shape, strict=True)}
        return xr.DataArray(
            values.reshape(*shape, *values.shape[1:]), {**numbered, **coords}, [*SAMPLE, *dims], name=name, attrs=attrs
        )


def scored(tree: xr.DataTree, variant: str = "") -> Scored:
    """The posterior of a scorer study, or of one of its sensitivity variants. Raises `NoVariantError`."""
    if not variant:
        return _scored(tree, tree["posterior"].to_dataset(), _patterns(tree))
    found = tree.children["variants"].children if "variants" in tree.children else {}
    if variant not in found:
        raise NoVariantError(f"no variant is called {variant!r}; there are: {', '.join(sorted(found)) or 'none'}")
    group = found[variant].to_dataset()
    return _scored(tree, group, group)


def variants(tree: xr.DataTree) -> dict[str, str]:
    """Name of every sensitivity variant -> what differs, in words."""
    found = tree.children["variants"].children if "variants" in tree.children else {}
    return {name: str(group.attrs.get("title", name)) for name, group in found.items()}


def prior_scored(tree: xr.DataTree) -> Scored:
    """The prior of a scorer study, one chain, before any label is seen: every test of every pattern is unknown."""
    patterns = _patterns(tree)
    unseen = patterns.assign(pattern_label=xr.full_like(patterns["pattern_label"], -1))
    return _scored(tree, tree["prior"].to_dataset(), unseen)


def truth_probability(scored: Scored) -> Floats:
    """(draw, pattern) P(truth = 1 | the labels seen, the parameters of the draw).

    Tests that share an error factor are averaged over it, given the truth (Gauss-Hermite, 15 nodes). A reference rater
    decides alone. Where a draw gives a pattern no probability at all, the answer is its cell's prevalence.
    Source of the model: hui1980, qu1996.
    """
    found = np.empty((scored.n_draws, len(scored.pattern_cell)))
    node, weight = _nodes(scored)
    for block in scored.blocks(found.shape[1] * node.size):
        none, one = np.moveaxis(_joint(scored, block, node, weight), -2, 0)
        total = none + one
        prevalence = scored.prevalence[block][:, scored.pattern_cell]
        found[block] = np.divide(one, total, out=prevalence, where=total > 0.0)
    return found


def label_probability(scored: Scored) -> Floats:
    """(draw, pattern) P(the labels of the pattern | its cell), the parameters as in `truth_probability`."""
    found = np.empty((scored.n_draws, len(scored.pattern_cell)))
    node, weight = _nodes(scored)
    for block in scored.blocks(found.shape[1] * node.size):
        found[block] = _joint(scored, block, node, weight).sum(axis=-2)
    return found


def _nodes(scored: Scored) -> tuple[Floats, Floats]:
    return (np.zeros(1), np.ones(1)) if scored.dependence is None else normal_nodes(N_NODES)


def _joint(scored: Scored, block: slice, node: Floats, weight: Floats) -> Floats:
    """(draw, 2, pattern) P(truth = z and the labels | cell) of a block of draws."""
    dependence = np.zeros((scored.n_draws, 2)) if scored.dependence is None else scored.dependence
    return joint_probability(
        np.asarray(ndtri(scored.prevalence[block]), np.float64),
        _probits(scored.fpr[block], scored.fnr[block]),
        _probits(scored.rater_fpr[block], scored.rater_fnr[block]),
        dependence[block],
        scored.cell_arm,
        scored.pattern_cell,
        scored.pattern_label,
        scored.reference.astype(np.int64),
        scored.shares.astype(np.int64),
        node,
        weight,
    )


def _probits(given_0: Floats, given_1: Floats) -> Floats:
    """(draw, 2, ...) probits of error probabilities (draw, ...) given truth 0 and 1."""
    return np.asarray(ndtri(np.stack([given_0, given_1], axis=1)), np.float64)


def _patterns(tree: xr.DataTree) -> xr.Dataset:
    data = tree["constant_data"].to_dataset()
    return data.assign(pattern_count=tree["observed_data"]["pattern_count"])


def _scored(tree: xr.DataTree, sample: xr.Dataset, patterns: xr.Dataset) -> Scored:
    """Draws of `sample` with the patterns, the reference and the shared factor of `patterns`."""
    data = tree["constant_data"].to_dataset()
    arrays: dict[str, Any] = {f"cell_{factor}": _codes(data, f"cell_{factor}") for factor in FACTORS[:4]}
    arrays |= {f"row_{factor}": _codes(data, f"{factor}_index") for factor in ("key", "arm", "model", "population")}
    arrays |= {name: _codes(patterns, name) for name in ("pattern_cell", "pattern_count", "row_pattern")}
    arrays |= {name: _draws(sample, name, "cell") for name in ("prevalence", "fpr", "fnr")}
    arrays |= {name: _draws(sample, name, "arm", "rater") for name in ("rater_fpr", "rater_fnr")}
    return Scored(
        **arrays,
        dependence=_draws(sample, "dependence", "truth") if "dependence" in sample else None,
        shares=_shares(patterns, data.sizes["rater"]),
        reference=np.asarray(patterns["reference"].values).astype(bool),
        pattern_label=np.asarray(patterns["pattern_label"].transpose("pattern", "test").values, np.int8),
        target=int(data.attrs.get("target_population", 0)),
        levels={factor: tuple(map(str, data[factor].values)) for factor in FACTORS},
        n_chains=sample.sizes["chain"],
        seed=int(tree.attrs["seed"]),
    )


def _shares(patterns: xr.Dataset, n_raters: int) -> Flags:
    """(test,) which tests share the error factor; where not stored: the raters, and the scorer with a single one."""
    if "shares" in patterns:
        return np.asarray(patterns["shares"].values).astype(bool)
    return np.array([n_raters == 1, *[True] * n_raters])


def _codes(data: xr.Dataset, name: str) -> Ints:
    return np.asarray(data[name].values, np.int64)


def _draws(sample: xr.Dataset, name: str, *dims: str) -> Floats:
    """(draw, *dims) float64."""
    found = sample[name].transpose(*SAMPLE, *dims)
    n_draws = found.sizes["chain"] * found.sizes["draw"]
    return np.ascontiguousarray(found.values, dtype=np.float64).reshape(n_draws, *found.shape[2:])
