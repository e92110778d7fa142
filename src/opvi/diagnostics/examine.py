"""Every check that the draws, the target and the family allow, in one call."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.types import Array, Key
from opvi.diagnostics._arrays import Draws, cholesky, generator
from opvi.diagnostics.identities import score_identities
from opvi.diagnostics.importance import Importance, importance
from opvi.diagnostics.improper import Finding, along, boundary, name_directions
from opvi.diagnostics.judge import Evidence
from opvi.diagnostics.ksd import ksd_test
from opvi.diagnostics.modes import Modes, modes
from opvi.diagnostics.refresh import Refresh, refresh
from opvi.diagnostics.sections import sections
from opvi.diagnostics.stein import stein_test
from opvi.families import AbstractFamily, AbstractTractableFamily
from opvi.posterior.evaluate import Evaluator
from opvi.solver import Result
from opvi.targets import AbstractTarget

LEAST = 200  # draws besides one for each latent
LEARNABLE = 128  # dimensions up to which the features of the Stein test fit into memory
MOST_DIRECTIONS = 24
EDGE = 0.02  # share of draws without a density from which on there is an edge to be named


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
    evaluate = Evaluator(target)
    z64 = np.asarray(z, np.float64)
    log_density, scores = evaluate(z64)
    return look(
        evaluate,
        z64,
        log_density,
        scores,
        jr.fold_in(key, 0),
        weighted=weigh_draws(target, family, z64, log_density),
        refreshed=refresh(target, z, jr.fold_in(key, 2)) if refreshed else None,
        seen=None if ends is None else modes(target, ends, z64),
        converged=converged,
        result=result,
        scores_spent=len(z64),
    )


def weigh_draws(
    target: AbstractTarget, family: AbstractFamily | None, z: np.ndarray, log_density: np.ndarray
) -> Importance | None:
    """Importance weights of draws of q, where it has a density."""
    if not isinstance(family, AbstractTractableFamily) or not np.isfinite(log_density).any():
        return None
    log_q = np.asarray(_log_q(family, jnp.asarray(z, jnp.result_type(float))))
    return importance(log_density, log_q, z, target.columns)


def look(
    evaluate: Evaluator,
    z: np.ndarray,
    log_density: np.ndarray,
    scores: np.ndarray,
    key: Key,
    *,
    weighted: Importance | None = None,
    corrected: bool = False,
    refreshed: Refresh | None = None,
    seen: Modes | None = None,
    findings: Sequence[Finding] = (),
    converged: bool | None = None,
    result: Result | None = None,
    scores_spent: int = 0,
) -> Evidence:
    """All checks that cost few evaluations, on draws whose log density and scores are known."""
    columns, d = evaluate.target.columns, evaluate.dim
    generate = generator(jr.fold_in(key, 0))
    finite = np.asarray(np.isfinite(log_density) & np.isfinite(scores).all(1))
    found = list(findings)
    if np.mean(~np.isfinite(log_density)) > EDGE and finite.any():
        found.append(boundary(evaluate, z, np.isfinite(log_density), generate))
    identities = ksd = stein = lines = None
    units, sd = np.eye(d), np.ones(d)
    if finite.sum() > d + LEAST:
        y, s = z[finite], scores[finite]
        identities = score_identities(y, s, columns)
        ksd = ksd_test(y, s, jr.fold_in(key, 1))
        if d <= LEARNABLE:
            stein = stein_test(None, y, s, jr.fold_in(key, 2), columns=columns)
        units, sd = _directions(y)
        lines = sections(evaluate, y, units)
        found += along(columns, units, sd, lines)
    return Evidence(
        identities=identities,
        ksd=ksd,
        stein=stein,
        importance=weighted,
        refresh=refreshed,
        modes=seen,
        sections=lines,
        directions=name_directions(columns, units, sd),
        findings=tuple(found),
        corrected=corrected,
        converged=converged,
        result=result,
        scores_spent=scores_spent,
        draws=int(finite.sum()),
        wanted=d + LEAST,
    )


def _directions(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One sd along each coordinate and along each principal axis of the correlations; and the sds."""
    tril = cholesky(z)
    sd = np.linalg.norm(tril, axis=1)
    if len(sd) == 1:
        return np.diag(sd), sd
    values, vectors = np.linalg.eigh(np.atleast_2d(tril @ tril.T / np.outer(sd, sd)))
    axes = (vectors * np.sqrt(np.maximum(values, 0.0))).T[::-1] * sd
    return np.concatenate([np.diag(sd)[:MOST_DIRECTIONS], axes[:MOST_DIRECTIONS]]), sd


@eqx.filter_jit
def _log_q(family: AbstractTractableFamily, z: Array) -> Array:
    return jax.vmap(family.log_prob)(z)
