"""Data sets that travel inside the package: no network, nothing read before a loader is called."""

from opvi.datasets.binarized_mnist import (
    BinarizedMNIST as BinarizedMNIST,
    binarized_mnist as binarized_mnist,
)
