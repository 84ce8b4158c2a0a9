"""Draws by nutpie from the compiled density: reproducible, constrained, labelled."""

import numpy as np
import pytest

from drift.inference.compiled import compile_model, structure_key
from drift.inference.sampling import Settings, sample
from drift.models.cards import read_card

SHORT = Settings(draws=100, tune=100, chains=3)
ROUNDING = 1e-12  # a sum of some levels' effects


@pytest.fixture(scope="module")
def draw(built, frame_of):
    card = read_card("ordinal")
    frame = frame_of(card)
    compiled = compile_model(lambda: built("ordinal"), structure_key({"card": card.digest} | frame.structure()))

    def make(seed=1, cores=2):
        return sample(compiled, frame.arrays, frame.coords, SHORT, seed, cores=cores, progress=False)

    return make


@pytest.fixture(scope="module")
def posterior(draw):
    return draw()["posterior"].to_dataset()


def test_same_seed_same_draws_on_any_number_of_cores(draw, posterior):
    assert draw(cores=1)["posterior"].to_dataset().drop_attrs().identical(posterior.drop_attrs())


def test_another_seed_other_draws(draw, posterior):
    assert not (draw(seed=2)["posterior"]["cutpoints"] == posterior["cutpoints"]).any()


def test_chains_start_apart(posterior):
    assert (posterior["cutpoints"].isel(draw=0).diff("chain") != 0).all()


def test_shape_is_what_the_settings_say(posterior):
    assert (
        dict(posterior.sizes).items() >= {"chain": 3, "draw": 100, "model": 3, "participant": 8, "cutpoint": 4}.items()
    )


def test_levels_are_named(posterior):
    assert posterior["question"].values.tolist() == ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]
    assert posterior["cutpoint"].values.tolist() == ["1|2", "2|3", "3|4", "4|5"]


@pytest.mark.parametrize("factor", ["model", "domain", "participant"])
def test_effects_sum_to_zero(posterior, factor):
    assert abs(posterior[f"{factor}_effect"].sum(factor)).max() < ROUNDING


def test_questions_sum_to_zero_within_their_domain(posterior):
    question = posterior["question_effect"].to_numpy()
    for domain in (0, 1):
        assert np.abs(question[..., domain::2].sum(axis=-1)).max() < ROUNDING


@pytest.mark.parametrize("factor", ["model", "domain"])
def test_interactions_sum_to_zero_over_both(posterior, factor):
    assert abs(posterior["model_domain_effect"].sum(factor)).max() < ROUNDING


def test_cutpoints_increase(posterior):
    assert (posterior["cutpoints"].diff("cutpoint") > 0).all()


def test_the_sampler_reports_what_the_checks_read(draw):
    assert {"diverging", "energy"} <= set(draw()["sample_stats"].data_vars)
