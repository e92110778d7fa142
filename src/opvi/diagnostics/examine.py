"""Every check that the draws, the target and the family allow, in one call."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.types import Array, Key
from opvi.diagnostics._arrays import Draws
from opvi.diagnostics.identities import score_identities
from opvi.diagnostics.importance import importance
from opvi.diagnostics.judge import Evidence
from opvi.diagnostics.ksd import ksd_test
from opvi.diagnostics.modes import modes
from opvi.diagnostics.refresh import refresh
from opvi.diagnostics.stein import stein_test
from opvi.families import AbstractFamily, AbstractTractableFamily
from opvi.solver import Result
from opvi.targets import AbstractTarget


def examine(
    target: AbstractTarget,
    z: Draws,
    key: Key,
    *,
    family: AbstractFamily | None = None,
    ends: Draws | None = None,
    converged: bool | None = None,
    result: Result | None = None,
    refreshed: bool = True,
) -> Evidence:
    """Look at draws `z` of q, on the unconstrained scale of `target`.

    **Arguments:**

    - `family`: q, for importance weights where it has a density.
    - `ends`: where independent starts ended, one row each: evidence about modes.
    - `converged`, `result`: what the run says about itself.
    - `refreshed`: False leaves out the refresh, the most telling check and the most expensive.
    """
    z = jnp.asarray(z)
    log_density, scores = (np.asarray(x) for x in _values(target, z))
    columns = target.columns
    weighted = None
    if isinstance(family, AbstractTractableFamily):
        weighted = importance(log_density, np.asarray(_log_q(family, z)), z, columns)
    return Evidence(
        identities=score_identities(z, scores, columns),
        ksd=ksd_test(z, scores, jr.fold_in(key, 0)),
        stein=stein_test(target, z, scores, jr.fold_in(key, 1)),
        importance=weighted,
        refresh=refresh(target, z, jr.fold_in(key, 2)) if refreshed else None,
        modes=None if ends is None else modes(target, ends, z, jr.fold_in(key, 3)),
        converged=converged,
        result=result,
        scores_spent=len(z),
    )


@eqx.filter_jit
def _values(target: AbstractTarget, z: Array) -> tuple[Array, Array]:
    return jax.vmap(jax.value_and_grad(target.log_density))(z)


@eqx.filter_jit
def _log_q(family: AbstractTractableFamily, z: Array) -> Array:
    return jax.vmap(family.log_prob)(z)
