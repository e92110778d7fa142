"""The default optimiser: optax's Adam with a clipped gradient and a cosine decay."""

import optax


def adam(
    learning_rate: float,
    steps: int,
    *,
    b1: float = 0.9,
    b2: float = 0.999,
    clip: float | None = 10.0,
    final: float = 0.0,
) -> optax.GradientTransformation:
    """Adam whose rate decays along a cosine to `final * learning_rate` after `steps` steps.

    A min-max problem at a constant rate circles the solution; the decay is what lets it settle.
    """
    schedule = optax.cosine_decay_schedule(learning_rate, steps, final)
    optimiser = optax.adam(schedule, b1=b1, b2=b2)
    return optimiser if clip is None else optax.chain(optax.clip_by_global_norm(clip), optimiser)
