"""Importance weights p / q, where q has a density: k-hat, corrected moments, the evidence.

They see what nothing local sees: a mode of p to which q gives too little mass has large weights, provided
that q has draws there at all.
"""

from dataclasses import dataclass

import numpy as np

from opvi._core.errors import OpviError, require
from opvi.diagnostics._arrays import Column, Draws, Values, names


@dataclass(frozen=True)
class Importance:
    """Pareto-smoothed importance sampling of p from q.

    - `khat`: shape of the weights' tail. Below 0.5 the corrected moments are good, above 0.7 they are not.
    - `ess`: effective fraction of the draws, (sum w)^2 / (n sum w^2).
    - `log_weights`: smoothed and normalised: a correction, or the weights of a resample.
    - `shift`, `log_sd_ratio`: unweighted draws against weighted ones, in sd of p; with Monte Carlo errors.
    - `log_evidence`: log of the mean weight: log p(x) where log q is normalised; with its error.
    """

    columns: tuple[str, ...]
    khat: float
    ess: float
    log_weights: np.ndarray
    shift: Column
    shift_error: Column
    log_sd_ratio: Column
    log_sd_ratio_error: Column
    log_evidence: float
    log_evidence_error: float
    invalid: float
    gradient_evaluations: int = 0


def importance(
    log_density: Values, log_q: Values, z: Draws, columns: tuple[str, ...] | None = None
) -> Importance:
    """From log p(x, z) and log q(z) at draws `z` of q."""
    z64 = np.asarray(z, np.float64)
    raw = np.asarray(log_density, np.float64) - np.asarray(log_q, np.float64)
    finite = np.isfinite(raw) & np.isfinite(z64).all(1)
    require(
        bool(finite.any()),
        OpviError,
        expected="a finite log density at some draws of q",
        got=f"none at {len(raw)} draws",
        write="opvi.diagnostics.improper(target, key)  # says where the density is not finite",
    )
    raw = np.where(finite, raw, -np.inf)
    top = raw.max(initial=-np.inf, where=finite)
    smoothed, khat = _smooth(np.maximum(raw - top, -700.0))
    weights = np.exp(smoothed - np.max(smoothed)) * finite
    weights = weights / weights.sum()
    n, d = z64.shape
    z64 = np.where(finite[:, None], z64, 0.0)

    mean_q, mean_p = z64[finite].mean(0), weights @ z64
    variance_p = np.maximum(weights @ (z64 - mean_p) ** 2, 1e-300)
    sd_p, sd_q = np.sqrt(variance_p), z64[finite].std(0, ddof=1)
    # Ratio estimators by the delta method; paired with the plain mean over the same draws.
    u, v = (z64 - mean_p) / sd_p, (z64 - mean_q) / np.maximum(sd_q, 1e-300)
    share = n * weights[:, None]
    shift_influence = v * (sd_q / sd_p) - share * u
    sd_influence = 0.5 * ((v**2 - 1) - share * (u**2 - 1))
    relative = np.exp(raw - top)
    mean_weight = relative.mean()
    return Importance(
        columns=names(columns, d),
        khat=khat,
        ess=float(1.0 / (n * np.sum(weights**2))),
        log_weights=np.log(np.maximum(weights, 1e-300)),
        shift=(mean_q - mean_p) / sd_p,
        shift_error=shift_influence.std(0, ddof=1) / np.sqrt(n),
        log_sd_ratio=np.log(np.maximum(sd_q, 1e-300) / sd_p),
        log_sd_ratio_error=sd_influence.std(0, ddof=1) / np.sqrt(n),
        log_evidence=float(top + np.log(mean_weight)),
        log_evidence_error=float(relative.std(ddof=1) / np.sqrt(n) / mean_weight),
        invalid=float(1.0 - finite.mean()),
    )


def pareto_khat(log_weights: np.ndarray) -> float:
    """Shape of the tail of weights; -inf where all large ones are the same."""
    if not np.isfinite(log_weights).any():
        return np.inf
    return _smooth(np.maximum(log_weights - log_weights.max(), -700.0))[1]


def _smooth(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Pareto-smoothed log weights, and k-hat."""
    from arviz_stats.base import array_stats

    tail = np.sort(log_weights)[-max(len(log_weights) // 5, 5) :]
    if np.ptp(tail) < 1e-6:
        return log_weights, -np.inf
    # Its argument are log likelihoods left out, the negative of log weights.
    with np.errstate(all="ignore"):
        smoothed, khat = array_stats.psislw(-log_weights)
    khat = float(np.asarray(khat))
    return (smoothed, khat) if np.isfinite(khat) else (log_weights, np.inf)
