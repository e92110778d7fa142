import gzip
import lzma
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opvi.datasets import BinarizedMNIST, binarized_mnist
from opvi.datasets.binarized_mnist import read
from scripts import build_binarized_mnist as script

REPOSITORY = Path(__file__).parents[2]
SHIPPED = REPOSITORY / "src/opvi/datasets/binarized_mnist.xz"
ORIGINALS = REPOSITORY.parent / "shared/data/mnist"
needs_originals = pytest.mark.skipif(
    not ORIGINALS.is_dir(), reason="the original idx files are not in ../shared/data/mnist"
)


@pytest.fixture(scope="module")
def mnist() -> BinarizedMNIST:
    return binarized_mnist()


def test_shapes_and_values(mnist):
    assert [(a.shape, a.dtype) for a in mnist] == [
        ((60_000, 784), np.uint8),
        ((60_000,), np.uint8),
        ((10_000, 784), np.uint8),
        ((10_000,), np.uint8),
    ]
    assert mnist.train_images.max() == 1
    assert mnist.test_images.max() == 1
    assert all(a.flags.writeable for a in mnist)


def test_label_counts(mnist):
    published_train = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    published_test = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    np.testing.assert_array_equal(np.bincount(mnist.train_labels), published_train)
    np.testing.assert_array_equal(np.bincount(mnist.test_labels), published_test)


def test_mean_is_that_of_the_grey_levels(mnist):
    for images, grey_mean in (
        (mnist.train_images, 33.318 / 255),
        (mnist.test_images, 33.791 / 255),
    ):
        # mean p(1 - p) <= m(1 - m) (Jensen): a bound on the standard error of the mean
        standard_error = np.sqrt(grey_mean * (1 - grey_mean) / images.size)
        assert abs(images.mean(dtype=np.float64) - grey_mean) < 4 * standard_error


def test_rows_are_images_and_labels_belong_to_them(mnist):
    """The nearest class mean is right for 81%; labels out of step with their images give 10%."""
    means = np.stack([mnist.train_images[mnist.train_labels == c].mean(0) for c in range(10)])
    nearest = np.argmin((means**2).sum(1) - 2 * mnist.test_images @ means.T, axis=1)
    assert (nearest == mnist.test_labels).mean() > 0.78
    # a border of the 28 x 28 grid is empty, its middle is not
    upright = mnist.test_images.reshape(-1, 28, 28).mean(0)
    assert upright[[0, -1]].max() < 0.01
    assert upright[14, 14] > 0.3


def test_file_is_small():
    assert SHIPPED.stat().st_size < 2_000_000


def damaged_on_disk(good: bytes) -> bytes:
    middle = len(good) // 2
    return good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :]


def valid_xz_of_other_data(good: bytes) -> bytes:
    payload = lzma.decompress(good)
    return lzma.compress(bytes([payload[0] ^ 1]) + payload[1:], preset=0)


def cut_short(good: bytes) -> bytes:
    return good[:-1000]


@pytest.mark.parametrize("corrupt", [damaged_on_disk, valid_xz_of_other_data, cut_short])
def test_corrupt_file_says_what_to_do(tmp_path, corrupt):
    copy = tmp_path / "binarized_mnist.xz"
    copy.write_bytes(corrupt(SHIPPED.read_bytes()))
    with pytest.raises(
        ValueError,
        match=r"(?s)binarized_mnist\.xz is not the .*pip install.*build_binarized_mnist\.py",
    ):
        read(copy)


def test_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(ValueError, match=r"(?s)absent\.xz.*build_binarized_mnist\.py"):
        read(tmp_path / "absent.xz")


def test_importing_reads_no_data():
    watch = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import opvi.datasets
assert not [name for name in opened if name.endswith("binarized_mnist.xz")]
opvi.datasets.binarized_mnist()
assert [name for name in opened if name.endswith("binarized_mnist.xz")], "the hook sees nothing"
"""
    outcome = subprocess.run(
        [sys.executable, "-c", watch], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.slow
@needs_originals
def test_rebuilding_gives_the_same_file(tmp_path):
    rebuilt = tmp_path / "rebuilt.xz"
    script.main(["--source", str(ORIGINALS), "--out", str(rebuilt)])
    assert rebuilt.read_bytes() == SHIPPED.read_bytes()


@needs_originals
def test_every_grey_level_keeps_its_probability(mnist):
    grey = script.read_idx(ORIGINALS, "t10k-images-idx3-ubyte").ravel()
    pixels = np.bincount(grey, minlength=256)
    ones = np.bincount(grey, weights=mnist.test_images.ravel(), minlength=256)
    p = np.arange(256) / 255
    assert ones[0] == 0
    assert ones[255] == pixels[255]
    z = (ones - pixels * p)[1:255] / np.sqrt(pixels * p * (1 - p))[1:255]
    # the squares of 254 independent standard normals: their sum has mean 254, variance 508
    assert abs((z**2).sum() - 254) < 4 * np.sqrt(508)


def test_wrong_original_writes_nothing(tmp_path):
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"not MNIST"))
    out = tmp_path / "out.xz"
    with pytest.raises(SystemExit, match="expected sha256"):
        script.main(["--source", str(tmp_path), "--out", str(out)])
    assert not out.exists()
