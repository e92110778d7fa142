"""Fixed features with gradients, nested from the plain to the rich, and the ridge fit of f* on them."""

import numpy as np

RIDGES = (1e-4, 1e-2, 1.0)
MOST_PAIRS = 200


class Features:
    """phi: R^d -> R^k: 1 | y | squares, products and cubes | random cosines.

    `ends` are the numbers of features in each of the nested classes.
    """

    def __init__(self, d: int, generator: np.random.Generator, cosines: int = 100):
        pairs = [(i, j) for i in range(d) for j in range(i, d)]
        if len(pairs) > MOST_PAIRS:
            pairs = [(i, i) for i in range(d)]
        self.pairs = np.asarray(pairs)
        w = generator.normal(size=(d, cosines))
        self.w = w / np.linalg.norm(w, axis=0) * generator.uniform(0.5, 2.0, cosines)
        self.b = generator.uniform(0.0, 2 * np.pi, cosines)
        shape = 1 + d + len(pairs) + d
        self.ends = (1, 1 + d, shape, shape + cosines)

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """phi, (n, k)."""
        i, j = self.pairs.T
        one = np.ones((len(y), 1))
        squares = (y[:, i] * y[:, j] - (i == j)) / np.sqrt(1.0 + (i == j))
        cubes = (y**3 - 3 * y) / np.sqrt(6.0)  # Hermite: near orthonormal under a white q
        return np.concatenate([one, y, squares, cubes, np.cos(y @ self.w + self.b)], axis=1)

    def gradient(self, y: np.ndarray) -> np.ndarray:
        """d phi_k / d y_i, (n, k, d)."""
        n, d = y.shape
        i, j = self.pairs.T
        eye = np.eye(d)
        scale = np.sqrt(1.0 + (i == j))[:, None]
        return np.concatenate(
            [
                np.zeros((n, 1, d)),
                np.broadcast_to(eye, (n, d, d)),
                (y[:, i, None] * eye[j] + y[:, j, None] * eye[i]) / scale,
                (3 * (y**2 - 1) / np.sqrt(6.0))[:, :, None] * eye,
                -np.sin(y @ self.w + self.b)[:, :, None] * self.w.T,
            ],
            axis=1,
        )


def fit(features: Features, y: np.ndarray, s: np.ndarray) -> np.ndarray:
    """W (k, d) of f = W' phi, towards G W = E[s phi + grad phi].

    Class, ridge and a factor in [0, 1] are chosen for each coordinate of f on the last third: most
    coordinates of a nearly good fit have nothing to learn, and should not add noise.
    """
    cut = 2 * len(y) // 3
    gram, b = _system(features, y[:cut], s[:cut])
    gram_v, b_v = _system(features, y[cut:], s[cut:])
    d = y.shape[1]
    best, chosen = np.zeros(d), np.zeros_like(b)
    for end in features.ends:
        for ridge in RIDGES:
            w = _solve(gram[:end, :end], b[:end], ridge)
            linear = np.sum(w * b_v[:end], 0)
            square = np.sum(w * (gram_v[:end, :end] @ w), 0)
            factor = np.clip(linear / np.maximum(square, 1e-300), 0.0, 1.0)
            value = 2 * factor * linear - factor**2 * square
            better = value > best
            best = np.where(better, value, best)
            padded = np.zeros_like(b)
            padded[:end] = w * factor
            chosen[:, better] = padded[:, better]
    return chosen


def _system(features: Features, y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    phi = features(y)
    return phi.T @ phi / len(y), (phi.T @ s) / len(y) + features.gradient(y).mean(0)


def _solve(gram: np.ndarray, b: np.ndarray, ridge: float) -> np.ndarray:
    return np.linalg.solve(gram + ridge * np.diag(np.diagonal(gram)), b)


def evaluate(features: Features, w: np.ndarray, y: np.ndarray, s: np.ndarray):
    """f, and O f by coordinate: s_i f_i + d f_i / d y_i."""
    f = features(y) @ w
    return f, s * f + np.einsum("nki,ki->ni", features.gradient(y), w, optimize=True)
