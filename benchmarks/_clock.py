"""Seconds spent tracing and compiling, as JAX reports them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import jax


@dataclass
class Clock:
    """`total` wall seconds; `compile`, the part in which JAX traced, lowered or compiled."""

    total: float = 0.0
    spans: list[tuple[float, float]] = field(default_factory=list)

    @property
    def compile(self) -> float:
        return union(self.spans)

    @property
    def run(self) -> float:
        return self.total - self.compile


def union(spans: list[tuple[float, float]]) -> float:
    """The length of the union: a trace inside a trace counts once."""
    length, reached = 0.0, -float("inf")
    for start, stop in sorted(spans):
        length += max(0.0, stop - max(start, reached))
        reached = max(reached, stop)
    return length


@contextmanager
def clock() -> Iterator[Clock]:
    out = Clock()

    def listen(event: str, seconds: float, **_) -> None:
        if event.startswith("/jax/core/compile/"):
            now = time.perf_counter()
            out.spans.append((now - seconds, now))

    jax.monitoring.register_event_duration_secs_listener(listen)
    start = time.perf_counter()
    try:
        yield out
    finally:
        out.total = time.perf_counter() - start
        jax.monitoring.unregister_event_duration_listener(listen)
