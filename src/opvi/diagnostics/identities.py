"""Score identities: E_p[s_i] = 0 and E_p[s_i z_j] = -delta_ij, s = grad log p, held up to draws of q.

They need draws and scores and nothing else. Where p is Gaussian they are all there is to know: with
y the whitened draws, H = E_q[s y'] and g = E_q[s] give p's covariance (-H)^-1 and mean (-H)^-1 g.
So they do not only say *that* a coordinate is off but in which direction and by how much.

A Gaussian that minimises KL(q || p) satisfies all of them whatever p is: they say nothing about skewness,
and like everything local nothing about a mode that q has missed.
"""

from dataclasses import dataclass

import numpy as np

from opvi.diagnostics._arrays import Column, Draws, names, whiten


@dataclass(frozen=True)
class ScoreIdentities:
    """Per coordinate of z; `*_z` are in standard errors.

    - `mean_z`: E[s_i] / se. Positive: p wants the draws higher.
    - `scale_z`: (E[s_i z_i] + 1) / se. Positive: p wants them wider, the other coordinates held.
    - `shift`: (mean of the draws - mean of p) / sd of p, implied if p is Gaussian; with its error.
    - `log_sd_ratio`: log(sd of the draws / sd of p), implied in the same way; with its error.
    - `chi2`: mean square of all whitened identities in standard errors: about 1 if q = p.
    - `invalid`: fraction of draws whose score is not finite; they are left out.
    """

    columns: tuple[str, ...]
    mean_z: Column
    scale_z: Column
    shift: Column
    shift_error: Column
    log_sd_ratio: Column
    log_sd_ratio_error: Column
    chi2: float
    invalid: float
    draws: int
    gradient_evaluations: int = 0

    def worst(self) -> tuple[str, float]:
        """The column whose implied error is largest, and that error (in sd, or in log sd)."""
        size = np.maximum(np.abs(self.shift), np.abs(self.log_sd_ratio))
        i = int(np.argmax(size))
        return self.columns[i], float(size[i])


def score_identities(
    z: Draws, scores: Draws, columns: tuple[str, ...] | None = None
) -> ScoreIdentities:
    """Test E_q[s] = 0 and E_q[s z'] = -I on draws `z` of q with their `scores`."""
    white = whiten(z, scores)
    y, s, (n, d) = white.y, white.score, white.y.shape
    raw = s @ np.linalg.inv(white.tril)  # scores in z
    centred = y @ white.tril.T  # z - mean
    products = raw * centred
    mean_z = raw.mean(0) / _standard_error(raw)
    scale_z = (products.mean(0) + 1.0) / _standard_error(products)

    # p = N(m, C) in y: s = -C^-1 (y - m), hence H = E[s y'] = -C^-1 and E[s] = C^-1 m.
    precision = -0.5 * (s.T @ y + y.T @ s) / n
    values, vectors = np.linalg.eigh(precision)
    values = np.clip(values, 1e-2, None)  # a direction with no curvature reads as 10 times too wide
    covariance = (vectors / values) @ vectors.T
    arms = covariance @ white.tril.T  # column i: C L' e_i
    moved = s @ arms  # influence of each draw on p's mean in z
    variance = np.sum(white.tril.T * arms, 0)
    sd = np.sqrt(variance)
    shift = -moved.mean(0) / sd
    # Var of column i is a' C a; dC = C dH C, and draw k moves H by s_k y_k'.
    influence = moved * (y @ arms) + variance
    log_sd_ratio = np.log(white.sd / sd)
    # Of p's mean, z + C s: the noise that s shares with z cancels (all of it if p is Gaussian).
    shift_error = _standard_error(moved + centred) / sd
    return ScoreIdentities(
        columns=names(columns, d),
        mean_z=mean_z,
        scale_z=scale_z,
        shift=shift,
        shift_error=shift_error,
        log_sd_ratio=log_sd_ratio,
        log_sd_ratio_error=_standard_error(influence) / (2 * variance),
        chi2=_chi2(s, y),
        invalid=float(1.0 - white.finite.mean()),
        draws=n,
    )


def _chi2(s: np.ndarray, y: np.ndarray) -> float:
    """Mean over all d + d^2 identities of their squared standard errors."""
    n, d = s.shape
    first = (s.mean(0) / _standard_error(s)) ** 2
    second = s.T @ y / n
    spread = np.sqrt(np.maximum((s**2).T @ (y**2) / n - second**2, 1e-300) / n)
    return float(np.mean(np.append(first, ((second + np.eye(d)) / spread).ravel() ** 2)))


def _standard_error(x: np.ndarray) -> np.ndarray:
    return np.maximum(x.std(0, ddof=1), 1e-300) / np.sqrt(len(x))
