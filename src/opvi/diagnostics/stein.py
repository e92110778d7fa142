"""The held-out Stein test: a test function learned on one half of the draws, judged on the other.

E_p[O f] = 0 for every f, with O the Langevin-Stein operator. On one half of the draws f is fitted to
maximise 2 E_q[O f] - E_q|f|^2, whose supremum is the Fisher divergence E_q|grad log p - grad log q|^2,
reached at f* = grad log p - grad log q; on the other half

    mean(O f) / standard error      tests q = p without any bias from the fitting, and
    2 mean(O f) - mean|f|^2         is a lower bound of the Fisher divergence (up to noise).

Then the halves change places. In whitened coordinates f* is how far, in sd, each draw wants to move, and
sqrt(E f*_i^2) is the error of coordinate i in the same unit as a Wasserstein distance (Otto and Villani
2000 give W_2(q, p)^2 <= Fisher divergence for p no wider than a unit Gaussian).

The default test functions are ridge regressions on fixed features: affine, quadratic, cubic, random
cosines. The supremum is then a linear system, solved in milliseconds and the same on every machine.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from opvi._core.types import Key
from opvi.diagnostics._arrays import Column, Draws, names, whiten
from opvi.diagnostics.ksd import _generator
from opvi.targets import AbstractTarget
from opvi.testfunctions import AbstractTestFunctionFamily

RIDGES = (1e-3, 1e-2, 1e-1, 1.0)


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
) -> SteinTest:
    """Test q = p on draws `z`, with their scores if they are known (else they are computed and counted)."""
    z, spent = np.asarray(z)[:draws], 0
    if scores is None:
        assert target is not None
        scores, spent = np.asarray(_scores(target, jnp.asarray(z))), len(z)
    if target is not None and columns is None:
        columns = target.columns
    white = whiten(z, np.asarray(scores)[:draws])
    y, s = white.y, white.score
    n, d = y.shape
    features = _Features(d, _generator(key))
    first, second = np.arange(n) < n // 2, np.arange(n) >= n // 2
    ofs, fs = np.empty((n, d)), np.empty((n, d))
    for train, test in ((first, second), (second, first)):
        weights = _fit(features, y[train], s[train])
        fs[test], ofs[test] = _evaluate(features, weights, y[test], s[test])
    of = ofs.sum(1)
    integrand = 2 * of - np.sum(fs**2, 1)
    z_score = float(of.mean() / max(of.std(ddof=1), 1e-300) * np.sqrt(n))
    # Per column: f in the original coordinates, and the held-out bound of its mean square.
    return SteinTest(
        columns=names(columns, d),
        z=z_score,
        p_value=_upper_tail(z_score),
        fisher=float(integrand.mean()),
        fisher_error=float(integrand.std(ddof=1) / np.sqrt(n)),
        displacement=np.sqrt(np.maximum((2 * ofs - fs**2).mean(0), 0.0)),
        draws=n,
        gradient_evaluations=spent,
    )


class _Features:
    """phi: R^d -> R^k with its gradient."""

    def __init__(self, d: int, generator: np.random.Generator, cosines: int = 100):
        self.d = d
        pairs = [(i, j) for i in range(d) for j in range(i, d)]
        if len(pairs) > 200:
            pairs = [(i, i) for i in range(d)]
        self.pairs = np.asarray(pairs)
        w = generator.normal(size=(d, cosines))
        self.w = w / np.linalg.norm(w, axis=0) * generator.uniform(0.5, 2.0, cosines)
        self.b = generator.uniform(0.0, 2 * np.pi, cosines)

    def __call__(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """phi of shape (n, k), and its gradient (n, k, d)."""
        n, d = y.shape
        i, j = self.pairs.T
        eye = np.eye(d)
        angle = y @ self.w + self.b
        phi = np.concatenate(
            [np.ones((n, 1)), y, y[:, i] * y[:, j], y**3 / 3, np.cos(angle)], axis=1
        )
        gradient = np.concatenate(
            [
                np.zeros((n, 1, d)),
                np.broadcast_to(eye, (n, d, d)),
                y[:, i, None] * eye[j] + y[:, j, None] * eye[i],
                (y**2)[:, :, None] * eye,
                -np.sin(angle)[:, :, None] * self.w.T,
            ],
            axis=1,
        )
        return phi, gradient


def _fit(features: _Features, y: np.ndarray, s: np.ndarray) -> np.ndarray:
    """W of f = W' phi with G W = E[s phi + grad phi]; the ridge chosen on the last third."""
    cut = 2 * len(y) // 3
    gram, b = _system(features, y[:cut], s[:cut])
    gram_v, b_v = _system(features, y[cut:], s[cut:])
    best, ridge = -np.inf, RIDGES[-1]
    for candidate in RIDGES:
        w = _solve(gram, b, candidate)
        value = 2 * np.sum(w * b_v) - np.sum(w * (gram_v @ w))
        if value > best:
            best, ridge = value, candidate
    share = cut / len(y)
    return _solve(share * gram + (1 - share) * gram_v, share * b + (1 - share) * b_v, ridge)


def _system(features: _Features, y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    phi, gradient = features(y)
    return phi.T @ phi / len(y), (phi.T @ s) / len(y) + gradient.mean(0)


def _solve(gram: np.ndarray, b: np.ndarray, ridge: float) -> np.ndarray:
    return np.linalg.solve(gram + ridge * np.diag(np.diagonal(gram)), b)


def _evaluate(features: _Features, w: np.ndarray, y: np.ndarray, s: np.ndarray):
    """f, and O f by coordinate: s_i f_i + d f_i / d y_i."""
    phi, gradient = features(y)
    f = phi @ w
    return f, s * f + np.einsum("nki,ki->ni", gradient, w)


def _upper_tail(z: float) -> float:
    from scipy.stats import norm

    return float(norm.sf(z))


@eqx.filter_jit
def _scores(target: AbstractTarget, z):
    return jax.vmap(target.score)(z)
