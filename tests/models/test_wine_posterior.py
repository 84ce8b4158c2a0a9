"""The published clmm estimates of the wine data lie at the mode of our posterior with wide priors.

A maximum of the likelihood over effects, thresholds and sd is the mode of a posterior whose prior is flat in all of
them. Effects and sd: wide. Thresholds: a flat density is not among the priors of a card, whose Dirichlet is on label
shares. With 72 ratings its concentration matters: at 1 (the card's default, and the bundled studies' 29,140 ratings do
not notice) the modes lie .2 to .5 sd nearer to 0 than the estimates, at .01 .1 to .4 sd further out, at the Jeffreys
prior of label shares, 1/2, within .13 sd. So 1/2 is what "wide" means here, and the other two are tested to differ.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.ndimage import gaussian_filter1d

from drift.data.ratings import Ratings
from drift.inference.compiled import compile_model, structure_key
from drift.inference.sampling import Settings, sample
from drift.models.cards import build_model
from drift.models.frame import ratings_frame
from drift.scale import Scale

# data README: rating ~ temp + contact + (1 | judge), logit, 10-point adaptive Gauss-Hermite quadrature.
NAMES = ("tempwarm", "contactyes", "1|2", "2|3", "3|4", "4|5")
PUBLISHED = np.array([3.0619, 1.8334, -1.6235, 1.5128, 4.2271, 6.0862])
WITHIN = 0.15  # posterior standard deviations, required by issue 2

SETTINGS = Settings(draws=20_000, tune=500, target_accept=0.8)
BANDWIDTH = (
    0.25  # posterior sds: mode's bias from skewness under .02 sd, its Monte Carlo error about .025 (80,000 draws)
)
TERMS = ("domain", "participant")  # temp plays the model, contact the domain, judge the participant
CARD = (
    'builder = "ordinal"',
    "[priors]",
    "sd_model = {fixed = 10.0}",
    "sd_domain = {fixed = 10.0}",
    "sd_participant = {half_normal = 5.0}",
)


@pytest.fixture(scope="module")
def wine(wine_path):
    table = pd.read_csv(wine_path)
    levels = {"model": ("cold", "warm"), "domain": ("no", "yes"), "participant": tuple("123456789")}
    columns = {"model": "temp", "domain": "contact", "participant": "judge"}
    text = table.astype(str)
    return Ratings(
        rating=table["rating"].to_numpy() - 1,
        codes={factor: pd.Index(levels[factor]).get_indexer(text[name]) for factor, name in columns.items()},
        levels=levels,
        line=np.arange(2, 2 + len(table)),
        refused=np.zeros(len(table), bool),
        scale=Scale(("1", "2", "3", "4", "5")),
        source="wine.csv",
        digest="0" * 64,
        dropped={},
    )


@pytest.fixture(scope="module")
def draws_with(wine, card_text):
    """Label concentration -> (draws, 6): differences of levels, and thresholds of the cell (cold, no contact)."""
    known = {}

    def make(concentration):
        if concentration not in known:
            card = card_text(*CARD, f"label = {concentration}")
            frame = ratings_frame(wine, TERMS)
            key = structure_key({"card": card.digest} | frame.structure())
            compiled = compile_model(lambda: build_model(card, frame), key)
            tree = sample(compiled, frame.arrays, frame.coords, SETTINGS, 1, cores=2, progress=False)
            flat = tree["posterior"].to_dataset().stack(sample=("chain", "draw")).transpose("sample", ...)
            temp, contact = flat["model_effect"].to_numpy(), flat["domain_effect"].to_numpy()
            thresholds = flat["cutpoints"].to_numpy() - temp[:, :1] - contact[:, :1]
            known[concentration] = np.column_stack([temp[:, 1] - temp[:, 0], contact[:, 1] - contact[:, 0], thresholds])
        return known[concentration]

    return make


def mode(draws):
    """Of a Gaussian kernel estimate on a fine grid."""
    counts, edges = np.histogram(draws, bins=4096)
    smooth = gaussian_filter1d(counts.astype(float), BANDWIDTH * draws.std() / (edges[1] - edges[0]))
    return edges[smooth.argmax()] + (edges[1] - edges[0]) / 2


def distances(draws):
    """(6,) (mode - published estimate) / posterior sd."""
    return (np.apply_along_axis(mode, 0, draws) - PUBLISHED) / draws.std(axis=0)


@pytest.mark.parametrize("name", NAMES)
def test_published_estimate_is_near_the_mode(draws_with, name):
    assert abs(distances(draws_with(0.5))[NAMES.index(name)]) < WITHIN


@pytest.mark.slow
@pytest.mark.parametrize(("concentration", "sign"), [(1.0, -1.0), (0.01, 1.0)])
def test_other_concentrations_are_informative_with_72_ratings(draws_with, concentration, sign):
    """Nearer to zero at 1, further from it at .01: the upper thresholds show it most."""
    assert (sign * distances(draws_with(concentration))[[4, 5]] > WITHIN).all()


def test_interval_has_the_width_of_the_published_standard_errors(draws_with):
    """The test above would pass if our posterior were too wide. Bayes with 9 judges is a little wider or narrower."""
    ratio = draws_with(0.5).std(axis=0)[:2] / [0.5951, 0.5122]
    assert ((ratio > 0.85) & (ratio < 1.15)).all()
