"""A model's log density as machine code that is kept on disk: the second fit neither builds nor compiles a graph.

PyTensor turns the PyMC model into one Numba function of (unconstrained point, data arrays). A C wrapper around it
is compiled once per *structure* - card, priors, terms, numbers of levels, versions, processor - and found again by
the digest of that structure. Data arrive through a pointer, so new ratings of the same structure reuse the code.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from drift.errors import CacheFolderError

if TYPE_CHECKING:
    import pymc as pm

HIDDEN = ("_free", "__")  # the coordinates that are sampled; effects and constrained values are what is reported
PACKAGES = ("numba", "llvmlite", "numpy", "pymc", "pytensor")

WRAPPER = """\
def {name}(n, {sizes}x_, out_, {value}data_):
    try:
        head = carray(data_, ({n_head},), int64)
        ints = carray(data_, (head[0],), int64)
        floats = carray(data_, (head[0],), float64)
        x = carray(x_, ({n_in},))
        out = carray(out_, ({n_out},))
        {call}
        for i in range({n_out}):
            out[i] = result[i]
{checks}
    except Exception:
        return 1
    return 0
"""
CHECKS = """\
            if not isfinite(result[i]):
                return 3
        value_[0] = value
        if not isfinite(value):
            return 4"""


@dataclass(frozen=True)
class Compiled:
    """The machine code of one structure.

    log_density, expand: numba CFuncs, called by address. inputs: names of the data arrays that `pack` takes, in
    order. variables: (name, shape, dims) in the order in which `expand` writes them. center: (n,) the
    unconstrained point around which chains start.
    """

    log_density: Any
    expand: Any
    inputs: tuple[str, ...]
    variables: tuple[tuple[str, tuple[int, ...], tuple[str, ...]], ...]
    center: NDArray[np.float64]
    from_cache: bool

    @property
    def n_expanded(self) -> int:
        return sum(math.prod(shape) for _, shape, _ in self.variables)


def cache_folder() -> Path:
    """$DRIFT_CACHE, or drift/ under $XDG_CACHE_HOME or ~/.cache."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("DRIFT_CACHE") or base / "drift")


def structure_key(parts: Mapping[str, Any]) -> str:
    """Digest of everything that the machine code depends on besides the data."""
    from numba.core.registry import cpu_target

    package = Path(__file__).parent.parent
    graphs = ("effects", "priors", "frame", "label_frame", "ordinal*", "cell_means", "misclassification*")
    models = [path for name in graphs for path in sorted(package.glob(f"models/{name}.py"))]
    sources = [*models, *sorted(package.glob("likelihood/*.py")), Path(__file__)]
    code = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    processor = cpu_target.target_context.codegen().magic_tuple()
    versions = [platform.python_version(), *(version(name) for name in PACKAGES)]
    text = json.dumps([dict(parts), code, processor, versions], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def compile_model(build: Callable[[], pm.Model], key: str) -> Compiled:
    """The compiled density of the model that `build` makes; where `key` is known, nothing is built."""
    description = cache_folder() / f"{key}.json"
    if description.exists():
        try:
            return _link(key, json.loads(description.read_text()), {}, from_cache=True)
        except Exception:  # whatever JSON, pickle and numba raise on a damaged or incomplete entry: it is made anew
            pass
    _forget(key)
    try:
        return _compile(key, build())
    except OSError as error:
        raise CacheFolderError(
            f"compiled code cannot be kept in {cache_folder()} ({error.strerror}): name a folder that can be written "
            "to with the environment variable DRIFT_CACHE"
        ) from error


def _forget(key: str) -> None:
    """Remove what an earlier process left under this key, for numba stumbles over a damaged index."""
    for path in (*cache_folder().glob(f"{key}*"), *cache_folder().glob(f"__pycache__/{key}*")):
        path.unlink(missing_ok=True)


def pack(arrays: Mapping[str, NDArray[Any]], inputs: tuple[str, ...]) -> NDArray[np.int64]:
    """One buffer of 8-byte words: its length, then offset and shape of each array, then their values."""
    head: list[int] = []
    offset = 1 + sum(1 + arrays[name].ndim for name in inputs)
    values = [_words(arrays[name]) for name in inputs]
    for name, words in zip(inputs, values, strict=True):
        head += [offset, *arrays[name].shape]
        offset += words.size
    return np.concatenate([np.array([offset, *head], np.int64), *values])


def _words(array: NDArray[Any]) -> NDArray[np.int64]:
    kind = np.float64 if array.dtype.kind == "f" else np.int64
    return np.ascontiguousarray(array, kind).ravel().view(np.int64)


def _compile(key: str, model: pm.Model) -> Compiled:
    functions, description = _functions(model)
    compiled = _link(key, description, functions, from_cache=False)
    _write(cache_folder() / f"{key}.json", json.dumps(description))
    return compiled


def _functions(model: pm.Model) -> tuple[dict[str, Any], dict[str, Any]]:
    """The model as two numba functions of (point, *data), and what a later process must know to call them."""
    import pytensor.tensor as pt
    from pymc.pytensorf import compile as compile_graph
    from pytensor import config
    from pytensor.graph import clone_replace, rewrite_graph

    point = model.initial_point()
    values = [model.rvs_to_values[rv] for rv in model.free_RVs]
    shapes = [point[value.name].shape for value in values]
    ends = np.cumsum([math.prod(shape) for shape in shapes]).tolist()
    joined = pt.TensorType("float64", shape=(ends[-1],))(name="point")
    starts = [0, *ends[:-1]]
    parts = {v: joined[a:b].reshape(s) for v, a, b, s in zip(values, starts, ends, shapes, strict=True)}
    logp = rewrite_graph(model.logp(), include=["canonicalize", "stabilize", "local_remove_check_parameter"])
    gradient = pt.concatenate([derivative.ravel() for derivative in pt.grad(logp, values)])
    reported = [v for v in model.unobserved_value_vars if not v.name.endswith(HIDDEN)]
    flat = pt.concatenate([variable.ravel() for variable in reported])
    # Reassociated sums come out otherwise each time code is optimised: fresh code would not draw as the cache's does.
    with model, config.change_flags(numba__fastmath=False):
        graphs = {
            "log_density": compile_graph([joined], clone_replace([logp, gradient], parts), mode="NUMBA"),
            "expand": compile_graph([joined], clone_replace([flat], parts), mode="NUMBA"),
        }
    sizes = [
        value.shape
        for value in model.compile_fn(reported, inputs=values, mode="FAST_COMPILE", on_unused_input="ignore")(point)
    ]
    shared = {s.name: [s.name, s.ndim, s.dtype] for graph in graphs.values() for s in graph.get_shared()}
    description = {
        "inputs": list(shared.values()),
        "arguments": {name: [s.name for s in graph.get_shared()] for name, graph in graphs.items()},
        "variables": [
            (v.name, size, model.named_vars_to_dims.get(v.name, ())) for v, size in zip(reported, sizes, strict=True)
        ],
        "center": np.concatenate([np.ravel(point[value.name]) for value in values]).tolist(),
    }
    return {name: graph.vm.jit_fn for name, graph in graphs.items()}, description


def _link(key: str, description: dict[str, Any], functions: dict[str, Any], from_cache: bool) -> Compiled:
    variables = tuple((name, tuple(shape), tuple(dims)) for name, shape, dims in description["variables"])
    n_expanded = sum(math.prod(shape) for _, shape, _ in variables)
    n = len(description["center"])
    code = {
        name: _c_function(key, name, n, n if name == "log_density" else n_expanded, description, functions.get(name))
        for name in ("log_density", "expand")
    }
    inputs = tuple(name for name, _, _ in description["inputs"])
    return Compiled(
        **code, inputs=inputs, variables=variables, center=np.array(description["center"]), from_cache=from_cache
    )


def _c_function(key: str, name: str, n_in: int, n_out: int, description: dict[str, Any], function: Any) -> Any:
    """A CFunc around `function`, or the one that an earlier process left in the cache (`function` is then None)."""
    import numba
    from numba import types

    import drift.likelihood.native  # noqa: F401  # the code in the cache calls its symbol

    density = name == "log_density"
    path = cache_folder() / f"{key}_{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, _source(name, n_in, n_out, description))
    names = {
        "__name__": __name__,
        "carray": numba.carray,
        "int64": np.int64,
        "float64": np.float64,
        "isfinite": np.isfinite,
    }
    if function is not None:
        names["function"] = function
    exec(compile(path.read_text(), str(path), "exec"), names)  # our own source: numba's cache needs it as a file
    pointer = types.CPointer(types.float64)
    arguments = [pointer, pointer, pointer] if density else [types.uint64, pointer, pointer]
    return numba.cfunc(types.int64(types.uint64, *arguments, types.voidptr), cache=True)(names[name])


def _source(name: str, n_in: int, n_out: int, description: dict[str, Any]) -> str:
    density = name == "log_density"
    unpacked, position = {}, 1
    for label, ndim, dtype in description["inputs"]:
        words = "floats" if dtype.startswith("float") else "ints"
        shape = ", ".join(f"head[{position + 1 + axis}]" for axis in range(ndim))
        size = " * ".join(f"head[{position + 1 + axis}]" for axis in range(ndim))
        unpacked[label] = f"{words}[head[{position}] : head[{position}] + {size}].reshape(({shape},))"
        position += 1 + ndim
    arguments = ", ".join(["x", *(unpacked[label] for label in description["arguments"][name])])
    return WRAPPER.format(
        name=name,
        sizes="" if density else "m, ",
        value="value_, " if density else "",
        n_head=position,
        n_in=n_in,
        n_out=n_out,
        call=f"value, result = function({arguments})" if density else f"(result,) = function({arguments})",
        checks=CHECKS if density else "",
    )


def _write(path: Path, text: str) -> None:
    """Complete or absent. An identical file is left alone: numba looks its code up by the file's age."""
    if path.exists() and path.read_text() == text:
        return
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(text)
    beside.replace(path)
