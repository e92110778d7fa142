"""The Gaussian stage: fit a Gaussian by regressing scores on draws.

For p = N(m, P^-1) the score is linear, s(z) = P (m - z). So draw from q, regress the scores on the
draws, and step to the Gaussian whose score the regression line is. With more draws than dimensions
one step is exact for a Gaussian target, from any start and with any scales; it needs no learning
rate. In general a fixed point has E_q[s] = 0 and E_q[s (z - mean)'] = -I: those are the conditions
of the Gaussian that minimises KL(q || p) (Opper and Archambeau 2009), met here by a closed-form
step in the manner of batch and match (Cai et al. 2024).
"""

import numpy as np

from opvi._core.linear import safe_cholesky
from opvi.posterior.evaluate import Evaluator
from opvi.recipes.gaussians import Gaussians

LIMIT = 4.0  # a precision moves by at most this factor in one step, a mean by at most sqrt(d) sds


def fit_gaussian(
    evaluate: Evaluator,
    mean: np.ndarray,
    tril: np.ndarray,
    rng: np.random.Generator,
    *,
    rounds: int = 24,
) -> tuple[Gaussians, list[float]]:
    """The Gaussian, and KL(q || p) up to its constant after each round."""
    d = len(mean)
    batch = max(32, 2 * (d // 2 + 1) + d)
    batch += batch % 2
    trace: list[float] = []
    inside = mean
    quiet = 0
    for step in range(rounds):
        eps = rng.standard_normal((batch // 2, d))
        eps = np.concatenate([eps, -eps])
        values, scores = evaluate(mean + eps @ tril.T)
        ok = np.isfinite(values) & np.isfinite(scores).all(1)
        if ok.sum() < max(d + 2, batch // 2):
            mean, tril = 0.5 * (mean + inside), 0.5 * tril  # outside the domain: draw in
            trace.append(np.inf)
            continue
        inside = mean
        eps, values, scores = eps[ok], values[ok], scores[ok] @ tril
        log_det = np.linalg.slogdet(tril)[1]
        trace.append(float(-values.mean() - log_det))
        rate = 1.0 if step < 6 else max(1.0 / (step - 4), 0.1)
        move, turn, size = _regress(eps, scores, rate)
        mean, tril = mean + tril @ move, tril @ turn
        # Below the noise of a batch another round changes nothing that matters.
        quiet = quiet + 1 if size < 0.15 * np.sqrt(d) or rate < 0.2 else 0
        if quiet >= 3:
            break
    return Gaussians.single(mean, safe_cholesky(tril @ tril.T)), trace


def _regress(
    eps: np.ndarray, scores: np.ndarray, rate: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """One step in the coordinates in which q is N(0, I): shift, factor of the covariance, length."""
    d = eps.shape[1]
    centre, pull = eps.mean(0), scores.mean(0)
    white = eps - centre
    slopes = np.linalg.lstsq(white, scores - pull, rcond=None)[0]
    values, vectors = np.linalg.eigh(-0.5 * (slopes + slopes.T))
    values = np.clip(values, 1 / LIMIT, LIMIT)
    move = vectors @ ((vectors.T @ pull) / values) + centre
    length = np.linalg.norm(move)
    move = move * min(1.0, np.sqrt(d) / max(length, 1e-30))
    # Precisions are averaged on the scale on which the step is linear.
    values = (1 - rate) + rate * values
    turn = vectors / np.sqrt(values)
    size = np.sqrt(length**2 + np.sum(np.log(values) ** 2))
    return rate * move, turn, float(size)
