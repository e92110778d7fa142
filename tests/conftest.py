"""Precision of a test: float32 as JAX comes, float64 and strict dtype promotion where it is marked.

A law compared with an exact number is run in float64, so that a tolerance says something about the
law and not about rounding. Strict promotion finds a float32 constant that leaks into it.
"""

from collections.abc import Iterator

import jax
import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "float64: run in double precision, with strict promotion")


@pytest.fixture(autouse=True)
def _precision(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("float64") is None:
        yield
        return
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        yield
