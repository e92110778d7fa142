"""Linear algebra on the host, in double precision, that no scale of the coordinates can harm."""

import numpy as np


def safe_cholesky(covariance: np.ndarray) -> np.ndarray:
    """A Cholesky factor of the nearest thing that has one, each coordinate in its own units."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
    correlation = covariance / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(0.5 * (correlation + correlation.T))
    values = np.maximum(values, 1e-12 * max(values[-1], 1e-12))
    root = vectors * np.sqrt(values)
    # L from QR: no square is formed, so half of the digits are not lost.
    upper = np.asarray(np.linalg.qr(root.T, mode="r"))
    tril = upper.T * np.where(np.diagonal(upper) < 0, -1.0, 1.0)[None, :]
    return scale[:, None] * tril


def scaled_eigh(
    hessian: np.ndarray, score: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(D, eigenvalues, eigenvectors) of -D H D, D_i = (|H_ii| + g_i^2)^(-1/2): the units of each."""
    size = np.abs(np.diagonal(hessian)) + score**2
    unit = 1.0 / np.sqrt(np.maximum(size, 1e-30))
    values, vectors = np.linalg.eigh(-hessian * np.outer(unit, unit))
    return unit, values, vectors


def factor_of_inverse(hessian: np.ndarray, score: np.ndarray | None = None) -> np.ndarray:
    """Factor of (-H)^-1; negative curvature counts by its size, none by little.

    With a score g, of (-H + diag(g^2))^-1: where log p is a slope, its width is 1 / |g_i|.
    """
    g2 = np.zeros(len(hessian)) if score is None else score**2
    unit, values, vectors = scaled_eigh(hessian - np.diag(g2), np.sqrt(g2))
    values = np.maximum(np.abs(values), 1e-8 * np.abs(values).max())
    root = unit[:, None] * vectors / np.sqrt(values)
    return safe_cholesky(root @ root.T)
