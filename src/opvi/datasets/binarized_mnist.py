"""All 70,000 MNIST digits, each pixel drawn once as Bernoulli(grey / 255) from a fixed seed.

The images of the paper's logistic factor analysis ("binarized MNIST", section 4.2). The draw is
ours, not the file of Salakhutdinov and Murray (2008): log-likelihoods are comparable with theirs
only up to the noise of the draw.

MNIST is by Yann LeCun, Corinna Cortes and Christopher J. C. Burges, derived from NIST's databases,
under CC BY-SA 3.0; so is this derived file: see LICENCE-DATA.md beside it.
`scripts/build_binarized_mnist.py` rebuilds it from the original files.
"""

import hashlib
import lzma
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

N_TRAIN, N_TEST, N_PIXELS = 60_000, 10_000, 784

# Of the uncompressed payload, which unlike the .xz does not depend on the version of liblzma: train
# images, test images (a bit each pixel, most significant first), train labels, test labels (bytes).
PAYLOAD_SHA256 = "c14a6f0a12ccad54574c8d7eecfeafa34abfc8b9c50341005a77454eb8dccef0"


class BinarizedMNIST(NamedTuple):
    """Pixels are 0 or 1, row by row (28 x 28); labels are 0 to 9."""

    train_images: UInt8[np.ndarray, "60000 784"]
    train_labels: UInt8[np.ndarray, " 60000"]
    test_images: UInt8[np.ndarray, "10000 784"]
    test_labels: UInt8[np.ndarray, " 10000"]


def binarized_mnist() -> BinarizedMNIST:
    """Stochastically binarised MNIST with its labels, read from the package.

    Each call reads and unpacks anew (55 MB): keep the result.

    **Returns:** `BinarizedMNIST(train_images, train_labels, test_images, test_labels)`, NumPy
    arrays of `uint8`.

    **Raises:** `ValueError` when the file in the package is missing or damaged.
    """
    return read(files("opvi.datasets") / "binarized_mnist.xz")


def read(path: Traversable) -> BinarizedMNIST:
    """`binarized_mnist()` from a file of the caller's, held to the same checksum."""
    try:
        payload = lzma.decompress(path.read_bytes())
    except (FileNotFoundError, lzma.LZMAError) as error:
        raise ValueError(_explain(path, str(error))) from error
    digest = hashlib.sha256(payload).hexdigest()
    if digest != PAYLOAD_SHA256:
        raise ValueError(
            _explain(path, f"sha256 of its contents: expected {PAYLOAD_SHA256}, got {digest}")
        )

    train_bytes, test_bytes = N_TRAIN * N_PIXELS // 8, N_TEST * N_PIXELS // 8
    ends = np.cumsum([train_bytes, test_bytes, N_TRAIN])
    packed_train, packed_test, train_labels, test_labels = np.split(
        np.frombuffer(payload, np.uint8), ends
    )
    return BinarizedMNIST(
        train_images=np.unpackbits(packed_train).reshape(N_TRAIN, N_PIXELS),
        train_labels=train_labels.copy(),  # frombuffer's views are read-only
        test_images=np.unpackbits(packed_test).reshape(N_TEST, N_PIXELS),
        test_labels=test_labels.copy(),
    )


def _explain(path: Traversable, found: str) -> str:
    return (
        f"{path} is not the binarised MNIST of this version of opvi ({found}). Reinstall the "
        "package (`pip install --force-reinstall --no-deps opvi`), or rebuild the file in a source "
        "checkout from the original idx files: `python scripts/build_binarized_mnist.py "
        "--source DIR --out src/opvi/datasets/binarized_mnist.xz`."
    )
