"""The held-out Stein test: a test function learned on one half of the draws, judged on the other.

E_p[O f] = 0 for every f, with O the Langevin-Stein operator. On one half of the draws f is fitted to
maximise 2 E_q[O f] - E_q|f|^2, whose supremum is the Fisher divergence E_q|grad log p - grad log q|^2,
reached at f* = grad log p - grad log q; on the other half

    mean(O f) / standard error      tests q = p without any bias from the fitting, and
    2 mean(O f) - mean|f|^2         is a lower bound of the Fisher divergence (up to noise).

Then the halves change places. In whitened coordinates f* is how far, in sd, each draw wants to move, and
sqrt(E f*_i^2) is the error of coordinate i in the same unit as a Wasserstein distance (Otto and Villani
2000 give W_2(q, p)^2 <= Fisher divergence for p no wider than a unit Gaussian).

The default test functions are ridge regressions on fixed features (constant, affine, cubic, random
cosines). The supremum is then a linear system, solved in milliseconds and the same on every machine.
`test_functions=NeuralTestFunction(...)` learns a network instead, for shapes that features miss.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.types import Key
from opvi.diagnostics import _critic
from opvi.diagnostics._arrays import Column, Draws, generator, names, whiten
from opvi.diagnostics._features import Features, evaluate, fit
from opvi.targets import AbstractTarget
from opvi.testfunctions import AbstractTestFunctionFamily


@dataclass(frozen=True)
class SteinTest:
    """- `z`, `p_value`: of E_q[O f] = 0 against > 0, f learned on other draws.
    - `fisher`, `fisher_error`: held-out lower bound of the Fisher divergence in whitened coordinates.
    - `displacement`: per column, how far the draws want to move, in sd (root mean square; 0 if not seen).
    """

    columns: tuple[str, ...]
    z: float
    p_value: float
    fisher: float
    fisher_error: float
    displacement: Column
    draws: int
    gradient_evaluations: int = 0


def stein_test(
    target: AbstractTarget | None,
    z: Draws,
    scores: Draws | None,
    key: Key,
    *,
    test_functions: AbstractTestFunctionFamily | None = None,
    columns: tuple[str, ...] | None = None,
    draws: int = 4000,
    steps: int = 1000,
) -> SteinTest:
    """Test q = p on draws `z`, with their scores if they are known (else computed from `target`).

    - `test_functions`: networks, say, instead of the features; trained for `steps` steps on each half.
    - `draws`: the most draws that are used.
    """
    z, spent = np.asarray(z)[:draws], 0
    if scores is None:
        assert target is not None
        scores, spent = np.asarray(_scores(target, jnp.asarray(z))), len(z)
    if target is not None and columns is None:
        columns = target.columns
    white = whiten(z, np.asarray(scores)[:draws])
    y, s = white.y, white.score
    n, d = y.shape
    features = Features(d, generator(key))
    half = np.arange(n) < n // 2
    fs, ofs = np.empty((n, d)), np.empty((n, d))
    for k, train in enumerate((half, ~half)):
        test = ~train
        if test_functions is None:
            weights = fit(features, y[train], s[train])
            fs[test], ofs[test] = evaluate(features, weights, y[test], s[test])
        else:
            fold = jr.fold_in(key, k)
            f = _critic.train(test_functions, y[train], s[train], jr.fold_in(fold, 0), steps)
            shown = jnp.asarray(y[test], float), jnp.asarray(s[test], float)
            fs[test], ofs[test] = _critic.evaluate(f, *shown, jr.fold_in(fold, 1))
    of = ofs.sum(1)
    integrand = 2 * of - np.sum(fs**2, 1)
    z_score = float(of.mean() / max(of.std(ddof=1), 1e-300) * np.sqrt(n))
    return SteinTest(
        columns=names(columns, d),
        z=z_score,
        p_value=_upper_tail(z_score),
        fisher=float(integrand.mean()),
        fisher_error=float(integrand.std(ddof=1) / np.sqrt(n)),
        displacement=_displacement(fs, ofs, white.tril),
        draws=n,
        gradient_evaluations=spent,
    )


def _displacement(fs: np.ndarray, ofs: np.ndarray, tril: np.ndarray) -> np.ndarray:
    """Root mean square of (tril f)_i / sd_i: f by coordinate of z, where whitening mixes coordinates.

    |f_i|^2 is replaced by its held-out bound 2 (O f)_i - f_i^2, which noise in f cannot inflate.
    """
    seen = np.sqrt(np.maximum((2 * ofs - fs**2).mean(0), 0.0))
    length = np.maximum(np.sqrt((fs**2).mean(0)), 1e-300)
    moved = (fs * np.minimum(seen / length, 1.0)) @ tril.T
    return np.sqrt((moved**2).mean(0)) / np.linalg.norm(tril, axis=1)


def _upper_tail(z: float) -> float:
    from scipy.stats import norm

    return float(norm.sf(z))


@eqx.filter_jit
def _scores(target: AbstractTarget, z):
    return jax.vmap(target.score)(z)
