"""Compiled densities: the same numbers as PyMC's, kept on disk, made anew when what is kept is damaged."""

import ctypes
from dataclasses import replace

import numpy as np
import nutpie
import pymc as pm
import pytest
from scipy import stats

from drift.inference.compiled import cache_folder, compile_model, pack, structure_key
from drift.models.cards import build_model, read_card
from drift.models.frame import ratings_frame

VALUE = 1e-12  # relative: the same sums in another order
GRADIENT = 1e-10  # relative to the largest component
SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[ctypes.c_void_p] * 4)
CARDS = ("ordinal", "ordinal-interaction", "cell-means")
X = np.array([0.5, -1.0, 2.0])


def call(function, point, words):
    """(log density, gradient) of a C function of the kind that nutpie calls."""
    point, slope, value = np.ascontiguousarray(point, float), np.empty(len(point)), np.empty(1)
    pointers = [array.ctypes.data for array in (point, slope, value, words)]
    status = SIGNATURE(function.address)(len(point), *pointers)
    assert status == 0
    return value[0], slope


def toy_model():
    with pm.Model() as model:
        x = pm.Data("x", X)
        pm.Normal("y", pm.Normal("mu", 0.0, 1.0), 1.0, observed=x)
    return model


def toy_density(compiled, mu, x=X):
    return call(compiled.log_density, [mu], pack({"x": x}, compiled.inputs))


def refuse():
    raise AssertionError("the model was built again")


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A small model in a cache of its own. Yields its key."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRIFT_CACHE", str(tmp_path_factory.mktemp("cache")))
        compile_model(toy_model, "toy")
        yield "toy"


def test_known_density(toy):
    value, slope = toy_density(compile_model(refuse, toy), 0.3)
    assert value == pytest.approx(stats.norm.logpdf(0.3) + stats.norm.logpdf(X, 0.3).sum(), rel=VALUE)
    assert slope[0] == pytest.approx(X.sum() - 4 * 0.3, rel=VALUE)


def test_the_second_time_nothing_is_built_and_the_density_is_the_same_to_the_bit(tmp_path, monkeypatch):
    monkeypatch.setenv("DRIFT_CACHE", str(tmp_path / "new" / "folder"))
    first = compile_model(toy_model, "key")
    second = compile_model(refuse, "key")
    assert (first.from_cache, second.from_cache) == (False, True)
    assert toy_density(first, 0.3) == toy_density(second, 0.3)


def test_another_key_is_built(toy):
    with pytest.raises(AssertionError, match="built again"):
        compile_model(refuse, f"{toy}-other")


@pytest.mark.parametrize("x", [np.array([7.0, 8.0, 9.0]), np.linspace(0, 1, 50), np.array([1.0])])
def test_new_data_reuse_the_machine_code(toy, x):
    value, _ = toy_density(compile_model(refuse, toy), -0.4, x)
    assert value == pytest.approx(stats.norm.logpdf(-0.4) + stats.norm.logpdf(x, -0.4).sum(), rel=VALUE)


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGE = {
    "description cut short": ("toy.json", truncate),
    "description of another kind": ("toy.json", lambda path: path.write_text("[]")),
    "wrapper missing": ("toy_log_density.py", lambda path: path.unlink()),
    "wrapper changed": ("toy_log_density.py", lambda path: path.write_text("def log_density(): pass\n")),
    "index cut short": ("__pycache__/toy_*.nbi", truncate),
    "index empty": ("__pycache__/toy_*.nbi", lambda path: path.write_bytes(b"")),
    "machine code cut short": ("__pycache__/toy_*.nbc", truncate),
    "machine code missing": ("__pycache__/toy_*.nbc", lambda path: path.unlink()),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_made_anew(toy, damage):
    pattern, spoil = DAMAGE[damage]
    paths = list(cache_folder().glob(pattern))
    assert paths
    for path in paths:
        spoil(path)
    compiled = compile_model(toy_model, toy)
    value, _ = toy_density(compiled, 0.3)
    assert value == pytest.approx(stats.norm.logpdf(0.3) + stats.norm.logpdf(X, 0.3).sum(), rel=VALUE)
    assert compile_model(refuse, toy).from_cache


# --- keys


def test_key_depends_on_the_number_of_levels(simulated):
    frames = [ratings_frame(simulated(n_questions=n), ("question",)) for n in (6, 7)]
    assert structure_key(frames[0].structure()) != structure_key(frames[1].structure())


def test_key_depends_on_the_card(ratings):
    structure = ratings_frame(ratings, ("question",)).structure()
    assert structure_key({"card": "a"} | structure) != structure_key({"card": "b"} | structure)


def test_key_does_not_depend_on_the_ratings(simulated):
    """Of the ratings, only which terms are sampled centred belongs to the structure."""
    one, other = (ratings_frame(simulated(seed=seed), ("question",)) for seed in (1, 2))
    assert structure_key(one.structure()) == structure_key(replace(other, centred=one.centred).structure())


# --- the cards


@pytest.fixture(scope="module")
def compiled_card(built, frame_of):
    def make(name):
        card = read_card(name)
        key = structure_key({"card": card.digest} | frame_of(card).structure())
        return compile_model(lambda: built(name), key)

    return make


def joined(model, seed):
    """A random unconstrained point, as a dict and as the vector in the order of the free variables."""
    rng, start = np.random.default_rng(seed), model.initial_point()
    point = {name: value + rng.normal(scale=0.5, size=value.shape) for name, value in start.items()}
    order = [model.rvs_to_values[variable].name for variable in model.free_RVs]
    return point, np.concatenate([np.ravel(point[name]) for name in order])


@pytest.mark.parametrize("name", CARDS)
def test_the_c_function_equals_pymc(name, built, compiled_card, frame_of):
    model, compiled = built(name), compiled_card(name)
    words = pack(frame_of(read_card(name)).arrays, compiled.inputs)
    density, gradient = model.compile_logp(mode="FAST_COMPILE"), model.compile_dlogp(mode="FAST_COMPILE")
    for seed in range(3):
        point, vector = joined(model, seed)
        value, slope = call(compiled.log_density, vector, words)
        assert value == pytest.approx(density(point), rel=VALUE)
        expected = gradient(point)
        np.testing.assert_allclose(slope, expected, atol=GRADIENT * np.abs(expected).max())


def test_other_ratings_of_the_same_structure_have_their_own_density(compiled_card, frame_of, simulated):
    card, compiled = read_card("ordinal"), compiled_card("ordinal")
    frame = replace(ratings_frame(simulated(seed=8), card.terms), centred=frame_of(card).centred)
    other = build_model(card, frame)
    point, vector = joined(other, 0)
    value, _ = call(compiled.log_density, vector, pack(frame.arrays, compiled.inputs))
    assert value == pytest.approx(other.compile_logp(mode="FAST_COMPILE")(point), rel=VALUE)


def test_plain_nutpie_compiles_the_same_density(built):
    """The stock numba backend, for those who take our PyMC model and go their own way."""
    model = built("ordinal", ())
    stock = nutpie.compile_pymc_model(model)
    point, vector = joined(model, 1)
    value, slope = call(stock.compiled_logp_func, vector, stock.user_data)
    assert value == pytest.approx(model.compile_logp(mode="FAST_COMPILE")(point), rel=VALUE)
    expected = model.compile_dlogp(mode="FAST_COMPILE")(point)
    np.testing.assert_allclose(slope, expected, atol=GRADIENT * np.abs(expected).max())


def test_only_what_is_reported_is_expanded(compiled_card):
    names = [name for name, _, _ in compiled_card("ordinal").variables]
    assert not [name for name in names if name.endswith(("_free", "__"))]
    assert {"cutpoints", "model_effect", "sd_participant"} <= set(names)
