"""Posteriors on disk: one self-contained NetCDF file a fit, a JSON record beside it, and an index of the folder."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from drift.errors import CorruptPosteriorError, PosteriorExistsError

SCHEMA = 1  # raised when a reader of the old files would misread the new ones
GROUPS = ("posterior", "sample_stats", "observed_data", "constant_data")
STATISTICS = ("diverging", "energy", "logp", "n_steps", "step_size", "depth")  # of sample_stats; the rest is not kept
OBSERVED = ("rating", "deviation")  # of ratings and of cells; of labels, as follows
OBSERVED_LABELS = ("pattern_count",)
VERSIONS = ("drift", "pymc", "pytensor", "nutpie", "arviz", "numba", "numpy", "xarray")
TEXTS = ("study_toml", "card_text")  # in the NetCDF file only
LISTS = ("terms", "left_out", "settings", "checks", "versions", "variables")  # JSON within an attribute
FLAGS = ("simulated", "other_coding", "checks_passed")  # "true" or "false": NetCDF has no booleans
DIGESTS = ("study_digest", "data_digest", "card_digest", "inputs_digest")
NEEDED = ("study", "card", "kind", "seed", "refusals", "created", *DIGESTS, *LISTS, *FLAGS, *TEXTS)
AGAIN = "make it again with python -m drift.fit"
INDEX = (
    "file",
    "study",
    "card",
    "refusals",
    "simulated",
    "rows",
    "draws",
    "checks_passed",
    "seed",
    "inputs_digest",
    "created",
)


@dataclass(frozen=True)
class Inputs:
    """What a posterior is of. Digests are SHA-256; two fits with equal inputs have equal draws on one machine."""

    study: str
    title: str
    study_toml: str
    study_digest: str
    data_source: str
    data_digest: str
    simulated: bool
    card: str
    card_text: str
    card_digest: str
    kind: str  # "ratings", "cells" or "labels"
    terms: tuple[str, ...]
    left_out: tuple[str, ...]
    refusals: str  # how they are coded: "lowest", "missing", or "" where none are declared
    other_coding: bool  # whether that is the other coding than the declared one
    seed: int
    settings: Mapping[str, int | float]

    @property
    def digest(self) -> str:
        settings = json.dumps(dict(self.settings))
        parts = [self.study_digest, self.data_digest, self.card_digest, self.refusals, str(self.seed), settings]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def posterior_path(folder: Path, inputs: Inputs) -> Path:
    other = f"-refusals-{inputs.refusals}" if inputs.other_coding else ""
    return folder / f"{inputs.study}-{inputs.card}{other}.nc"


def assemble(
    draws: xr.DataTree,
    data: xr.Dataset,
    inputs: Inputs,
    checks: list[dict[str, Any]],
    beside: Mapping[str, xr.Dataset] | None = None,
) -> xr.DataTree:
    """The tree that is stored: draws, the data as coded, how it was made as attributes of the root, and groups beside.

    Draws are kept in single precision, 7 digits: far below any Monte Carlo error.
    """
    stats = draws["sample_stats"].to_dataset()
    posterior = _single(draws["posterior"].to_dataset().drop_attrs())
    observed = [name for name in (OBSERVED_LABELS if inputs.kind == "labels" else OBSERVED) if name in data]
    groups = {
        "posterior": posterior,
        "sample_stats": stats[[name for name in STATISTICS if name in stats]].drop_attrs(),
        "observed_data": data[observed].drop_attrs(),
        "constant_data": data.drop_vars(observed),
        **{name: _single(group) for name, group in (beside or {}).items()},
    }
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = _attributes(inputs, checks) | {"variables": json.dumps(sorted(map(str, posterior.data_vars)))}
    return tree


def _single(data: xr.Dataset) -> xr.Dataset:
    """The draws of a dataset in single precision; what is no draw stays as it is."""
    return data.assign({name: value.astype(np.float32) for name, value in data.items() if "draw" in value.dims})


def _attributes(inputs: Inputs, checks: list[dict[str, Any]]) -> dict[str, Any]:
    """Text and whole numbers only, which every NetCDF reader takes; tables and lists as JSON."""
    return {
        "drift_schema": SCHEMA,
        "study": inputs.study,
        "title": inputs.title,
        "simulated": str(inputs.simulated).lower(),
        "card": inputs.card,
        "kind": inputs.kind,
        "terms": json.dumps(inputs.terms),
        "left_out": json.dumps(inputs.left_out),
        "refusals": inputs.refusals,
        "other_coding": str(inputs.other_coding).lower(),
        "seed": inputs.seed,
        "settings": json.dumps(dict(inputs.settings)),
        "checks": json.dumps(checks),
        "checks_passed": str(_all_passed(checks)).lower(),
        "data_source": inputs.data_source,
        "study_digest": inputs.study_digest,
        "data_digest": inputs.data_digest,
        "card_digest": inputs.card_digest,
        "inputs_digest": inputs.digest,
        "versions": json.dumps({name: version(name) for name in VERSIONS}),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "study_toml": inputs.study_toml,
        "card_text": inputs.card_text,
    }


def _all_passed(checks: list[dict[str, Any]]) -> bool:
    """Checks that were not made have not passed."""
    return bool(checks) and all(check["passed"] for check in checks)


def refuse_other_inputs(path: Path, inputs: Inputs, *, replace: bool) -> None:
    """Raise `PosteriorExistsError` where the file is there and holds the posterior of other inputs."""
    if replace or not path.exists():
        return
    try:
        there = read_attributes(path)
    except CorruptPosteriorError as error:
        raise PosteriorExistsError(
            f"{path} is in the way and is no readable posterior: remove it, or pass --replace"
        ) from error
    if there["inputs_digest"] == inputs.digest or there["checks_passed"] == "false":  # nothing was concluded from it
        return
    mine = _attributes(inputs, [])
    names = {
        "study_digest": "study file",
        "data_digest": "data file",
        "card_digest": "card",
        "seed": "seed",
        "settings": "settings",
    }
    other = ", ".join(label for name, label in names.items() if there[name] != mine[name])
    raise PosteriorExistsError(
        f"{path} holds the posterior of other inputs ({other} differ, made {there['created']}): "
        "pass --replace to overwrite it, or --out FOLDER to keep both"
    )


def refuse_unwritable(folder: Path) -> None:
    """Raise `OSError` where no file can be written into this folder, which need not exist yet."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
    if not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(there))


def strict_json(value: Any) -> str:
    """JSON as every reader takes it: a number that is not finite is null."""
    finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
    return json.dumps(finite, indent=1, ensure_ascii=False)


def write_posterior(tree: xr.DataTree, path: Path) -> Path:
    """Write the NetCDF file, then its JSON record and the folder's index; each is complete or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_orphans(path.parent)
    encoding = {group.path: _compressed(group.to_dataset()) for group in tree.subtree}
    _beside(path, lambda beside: tree.to_netcdf(beside, engine="h5netcdf", encoding=encoding))
    record = strict_json(_record(tree, path)) + "\n"
    _beside(path.with_suffix(".json"), lambda beside: beside.write_text(record, encoding="utf-8"))
    write_index(path.parent)
    return path


def _compressed(data: xr.Dataset) -> dict[str, dict[str, Any]]:
    return {
        str(name): {"zlib": True, "complevel": 4, "shuffle": True}
        for name, variable in data.variables.items()
        if variable.dtype.kind in "biuf" and variable.ndim
    }


def _record(tree: xr.DataTree, path: Path) -> dict[str, Any]:
    """The root's attributes as JSON, less the two texts, with the sizes and the file's own digest."""
    listed = {str(name): value for name, value in tree.attrs.items() if name not in TEXTS}
    parsed = {name: json.loads(value) if name in (*LISTS, *FLAGS) else value for name, value in listed.items()}
    sizes = tree["posterior"].sizes
    return {
        "file": path.name,
        **parsed,
        "rows": _n_rows(tree),
        "draws": int(sizes["chain"] * sizes["draw"]),
        "file_digest": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def _n_rows(tree: xr.DataTree) -> int:
    """Rows of the data: label patterns stand for several."""
    data = tree["constant_data"] if tree.attrs["kind"] == "labels" else tree["observed_data"]
    return int(data.sizes["row"] if "row" in data.sizes else next(iter(data.data_vars.values())).size)


def write_index(folder: Path) -> Path:
    """index.csv: one line for each of our records in the folder, by file name. Other JSON files are passed over."""
    records = [record for path in sorted(folder.glob("*.json")) if (record := _read_record(path))]
    table = pd.DataFrame([{name: record.get(name) for name in INDEX} for record in records], columns=list(INDEX))
    path = folder / "index.csv"
    _beside(path, lambda beside: table.to_csv(beside, index=False))
    return path


def _read_record(path: Path) -> dict[str, Any]:
    """The record of a posterior; empty where the file is none of ours."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and "drift_schema" in found else {}


def read_posterior(path: Path) -> xr.DataTree:
    """A stored posterior, in memory. Raises `CorruptPosteriorError` for a file that is damaged, foreign or newer."""
    read_attributes(path)
    try:
        with xr.open_datatree(path, engine="h5netcdf") as tree:
            loaded = tree.load().copy()
    except Exception as error:  # whatever HDF5 and xarray raise on a damaged file
        raise CorruptPosteriorError(f"{path} is damaged: {AGAIN}") from error
    missing = [group for group in GROUPS if group not in loaded.children]
    if missing:
        raise CorruptPosteriorError(f"{path} lacks the group {', '.join(missing)}: {AGAIN}")
    _check_whole(loaded, path)
    return loaded


def _check_whole(tree: xr.DataTree, path: Path) -> None:
    """Raise `CorruptPosteriorError` where the file is not as it was written: draws, study or checks."""
    try:
        lists = {name: json.loads(tree.attrs[name]) for name in LISTS}
    except ValueError as error:
        raise CorruptPosteriorError(f"{path} is damaged (its attributes are no JSON): {AGAIN}") from error
    lost = [name for name in lists["variables"] if name not in tree["posterior"].data_vars]
    if lost:
        raise CorruptPosteriorError(f"{path} has lost the draws of {', '.join(lost)}: {AGAIN}")
    if hashlib.sha256(tree.attrs["study_toml"].encode()).hexdigest() != tree.attrs["study_digest"]:
        raise CorruptPosteriorError(f"the study in {path} was changed after the fit: {AGAIN}")
    if _all_passed(lists["checks"]) != (tree.attrs["checks_passed"] == "true"):
        raise CorruptPosteriorError(f"the checks in {path} were changed after the fit: {AGAIN}")


def read_attributes(path: Path) -> dict[str, Any]:
    """The root's attributes. Raises `CorruptPosteriorError`."""
    import h5netcdf

    try:
        with h5netcdf.File(path, "r") as file:
            attrs = {name: _plain(value) for name, value in file.attrs.items()}
    except Exception as error:  # h5py raises a different type for each kind of damage
        reason = "there is no such file" if not path.exists() else "it is damaged or no NetCDF file"
        raise CorruptPosteriorError(f"{path} cannot be read: {reason}") from error
    if "drift_schema" not in attrs:
        raise CorruptPosteriorError(f"{path} was not written by drift: python -m drift.fit makes posteriors")
    if not isinstance(attrs["drift_schema"], int) or attrs["drift_schema"] > SCHEMA:
        raise CorruptPosteriorError(
            f"{path} was written by a newer drift (schema {attrs['drift_schema']}; this one reads {SCHEMA})"
        )
    missing = [name for name in NEEDED if name not in attrs]
    if missing:
        raise CorruptPosteriorError(f"{path} lacks the attribute {', '.join(missing)}: {AGAIN}")
    return attrs


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") and getattr(value, "size", 0) == 1 else value


def write_text(path: Path, text: str) -> None:
    """A text file, complete or absent; its folder is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _beside(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def _beside(path: Path, write: Callable[[Path], Any]) -> None:
    """Write beside, then rename: another process sees the old file or the whole new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _remove_orphans(folder: Path) -> None:
    """Remove parts that killed processes left behind."""
    for part in folder.glob(".*.part"):
        found = re.search(r"\.(\d+)\.part$", part.name)
        if found and not Path(f"/proc/{found[1]}").exists():
            part.unlink(missing_ok=True)
