"""Rebuild the packaged binarised MNIST, bit for bit, from the four original idx .gz files.

    python scripts/build_binarized_mnist.py --source DIR --out src/opvi/datasets/binarized_mnist.xz

Every input and the result are held to a sha256; a wrong one writes nothing and exits 1.
"""

import argparse
import gzip
import hashlib
import lzma
import sys
from pathlib import Path

import numpy as np

from opvi.datasets.binarized_mnist import PAYLOAD_SHA256

SEED = 2016
FILE_SHA256 = "5c848aeefd713eacd45b04e3a95830f9dd662a31a1a70169103a51be45370d93"

# Of the uncompressed contents: those first published, whichever gzip packed them.
SOURCE_SHA256 = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


def read_idx(directory: Path, name: str) -> np.ndarray:
    """The array in `name`.gz, shape (N, 784) for images and (N,) for labels."""
    content = gzip.decompress((directory / f"{name}.gz").read_bytes())
    check(name, content, SOURCE_SHA256[name])
    n_dims = content[3]
    n = int.from_bytes(content[4:8], "big")
    array = np.frombuffer(content, np.uint8, offset=4 + 4 * n_dims)
    return array.reshape(n, -1) if n_dims > 1 else array


def binarise(grey: np.ndarray, bits: np.random.PCG64) -> np.ndarray:
    """One Bernoulli(grey / 255) draw for each pixel, an image at a time.

    The raw stream of PCG64 and integer comparison only: NumPy promises that stream for ever, but
    not the methods of Generator (NEP 19). 255 * 16843009 = 2^32 - 1, so for u uniform below 2^32
    P(u < 16843009 grey) = grey / 255 to within 2^-32.
    """
    ones = np.empty(grey.shape, bool)
    for image, row in zip(grey, ones, strict=True):
        u = bits.random_raw(image.size // 2).astype("<u8").view("<u4")
        np.less(u, image.astype(np.uint32) * np.uint32(16843009), out=row)
    return ones


def check(name: str, content: bytes, expected: str) -> None:
    digest = hashlib.sha256(content).hexdigest()
    print(f"{digest}  {len(content):>9,} bytes  {name}")
    if digest != expected:
        sys.exit(f"{name}: expected sha256 {expected}. Nothing was written.")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--source", type=Path, required=True, help="folder of the four idx .gz files"
    )
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    args = parser.parse_args(argv)

    train, test, train_labels, test_labels = (read_idx(args.source, name) for name in SOURCE_SHA256)
    bits = np.random.PCG64(SEED)
    packed = [np.packbits(binarise(grey, bits), axis=1) for grey in (train, test)]
    payload = b"".join(part.tobytes() for part in (*packed, train_labels, test_labels))
    check("payload", payload, PAYLOAD_SHA256)

    compressed = lzma.compress(
        payload, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, preset=9 | lzma.PRESET_EXTREME
    )
    digest = hashlib.sha256(compressed).hexdigest()
    args.out.write_bytes(compressed)
    print(f"{digest}  {len(compressed):>9,} bytes  {args.out}")
    if digest != FILE_SHA256:
        print(
            "The payload is right, its compression another: this liblzma is not the one used then."
        )


if __name__ == "__main__":
    main()
