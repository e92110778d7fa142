"""The search for basins keeps so many at most, and says so when more of them matter."""

import jax
import jax.numpy as jnp
import numpy as np

import opvi
from opvi.posterior.evaluate import Evaluator
from opvi.recipes import basins

CENTRES = np.array([[-3.0, 0.0], [3.0, 0.0], [0.0, 3.0]])


def test_basins_beyond_those_that_are_kept_are_told(monkeypatch) -> None:
    def log_density(z):
        return jax.nn.logsumexp(-2.0 * jnp.sum((z - CENTRES) ** 2, axis=1))

    evaluate = Evaluator(opvi.from_log_density(log_density, jnp.zeros(2)))
    found = basins.search(evaluate, np.random.default_rng(0))
    assert len(found.basins) == len(CENTRES)
    assert not found.growing
    monkeypatch.setattr(basins, "MOST_BASINS", 2)
    cut = basins.search(evaluate, np.random.default_rng(0))
    assert len(cut.basins) == 2
    assert cut.starts == found.starts
    assert cut.growing
