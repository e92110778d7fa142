"""One compartment, first-order absorption, Michaelis-Menten elimination: an ordinary differential equation

    C'(t) = D k_a exp(-k_a t) / V - (V_m / V) C / (K_m + C),   C(0) = 0,

observed at a few times with log-normal error. The half-Cauchy priors leave K_m and V_m with tails so
heavy that the mean and sd of 10,000 reference draws are not reliable: compare their logarithms.
"""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from ._program import Program, floats

# The five-stage, fourth-order, L-stable SDIRK of Hairer and Wanner, Solving Ordinary Differential Equations
# II, table IV.6.5. It is stiffly accurate: the last stage is the step itself.
_DIAGONAL = 1 / 4
_BELOW = (
    (),
    (1 / 2,),
    (17 / 50, -1 / 25),
    (371 / 1360, -137 / 2720, 15 / 544),
    (25 / 24, -49 / 48, 125 / 16, -85 / 12),
)
_NODES = np.array([sum(row) + _DIAGONAL for row in _BELOW])

_SUBSTEPS_FIRST, _SUBSTEPS = 12, 2
_SMALLEST = 1e-12  # keeps the logarithm finite where the drug is gone


def time_grid(times: np.ndarray) -> np.ndarray:
    """Steps from 0 through the measurements; graded towards 0, where C passes K_m in a very short time."""
    first = times[0] * np.linspace(0, 1, _SUBSTEPS_FIRST + 1) ** 3
    later = [
        np.linspace(start, stop, _SUBSTEPS + 1)[1:]
        for start, stop in zip(times[:-1], times[1:], strict=True)
    ]
    return np.concatenate([first, *later])


def concentration(k_a, K_m, V_m, grid, dose, volume):
    """C on the grid (without its first point).

    What has been absorbed, A(t) = D / V (1 - exp(-k_a t)), is known; only the amount eliminated,
    E' = r C / (K_m + C) with C = A - E and r = V_m / V, is integrated. A stage E = e + h g r C / (K_m + C)
    is a quadratic in C with one positive root: implicit, stable for any K_m, and no iteration.
    """
    rate = V_m / volume
    step = np.diff(grid)

    def stage(absorbed, eliminated, weight):
        b = jnp.maximum(absorbed - eliminated, _SMALLEST)
        c = b - K_m - weight * rate
        # The root of C^2 - c C - b K_m = 0 in the form that does not cancel.
        twice = jnp.sqrt(c**2 + 4 * b * K_m) + jnp.abs(c)
        level = jnp.where(c > 0, twice / 2, 2 * b * K_m / twice)
        return level, rate * level / (K_m + level)

    def advance(eliminated, inputs):
        h, absorbed = inputs
        flows = []
        for row, at_node in zip(_BELOW, absorbed, strict=True):
            known = eliminated + h * sum(a * flow for a, flow in zip(row, flows, strict=True))
            level, flow = stage(at_node, known, h * _DIAGONAL)
            flows.append(flow)
        return known + h * _DIAGONAL * flow, level

    at = grid[:-1, None] + step[:, None] * _NODES
    absorbed = -dose / volume * jnp.expm1(-k_a * at)
    start = jnp.zeros_like(absorbed[0, 0])
    _, levels = jax.lax.scan(advance, start, (jnp.asarray(step), absorbed))
    return levels


def one_comp_mm_elim_abs(C_hat, grid, measured, D, V):
    k_a = numpyro.sample("k_a", dist.HalfCauchy(1))
    K_m = numpyro.sample("K_m", dist.HalfCauchy(1))
    V_m = numpyro.sample("V_m", dist.HalfCauchy(1))
    sigma = numpyro.sample("sigma", dist.HalfCauchy(1))
    C = concentration(k_a, K_m, V_m, grid, D, V)[measured]
    with numpyro.plate("N_t", C_hat.shape[0]):
        numpyro.sample("C_hat", dist.LogNormal(jnp.log(C), sigma), obs=C_hat)


def _inputs(data: Mapping[str, Any]) -> dict[str, np.ndarray]:
    given = floats(data, ("C_hat", "times", "D", "V"))
    times = given.pop("times")
    if data["t0"] != 0:
        raise ValueError("the compartment is empty at time 0: t0 must be 0")
    measured = _SUBSTEPS_FIRST - 1 + _SUBSTEPS * np.arange(len(times))
    return {**given, "grid": time_grid(times), "measured": measured}


ONE_COMP_MM_ELIM_ABS = Program(
    one_comp_mm_elim_abs, _inputs, transform={"K_m": np.log, "V_m": np.log}
)
