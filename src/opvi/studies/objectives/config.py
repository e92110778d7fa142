"""The objectives and the families, and which of them go together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp

import opvi
from opvi.studies.objectives import shapes

DENSITIES, SCORES = "densities", "scores"
Centres = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Size:
    """How long, and what of the table is run."""

    steps: float
    objectives: Sequence[str]
    families: Sequence[str]
    shapes: Sequence[str]


@dataclass(frozen=True)
class Row:
    """An objective, what it compares, and how it is optimised."""

    objective: Callable[[], opvi.Objective]
    compares: str
    rate: float
    steps: int
    annealed: bool = False
    functional: bool = True
    """Whether f* is near grad log p - grad log q, so that draws may be pushed along it."""


def _stein(test_functions: opvi.AbstractTestFunctionFamily, distance=None) -> opvi.Objective:
    return opvi.Objective(opvi.LangevinStein(), test_functions, distance)


def _neural(**kwargs) -> opvi.NeuralTestFunction:
    return opvi.NeuralTestFunction(width=32, depth=2, **kwargs)


def _tamed(z: jax.Array) -> jax.Array:
    """A preconditioner that falls with |z|."""
    return jnp.eye(shapes.DIM, dtype=z.dtype) / jnp.sqrt(1.0 + jnp.sum(z**2))


def _few() -> opvi.RandomFeatures:
    """Fewer than the 64 draws of a batch, or the regression on them is no regression."""
    return opvi.RandomFeatures(waves=16)


OBJECTIVES: dict[str, Row] = {
    "kl": Row(lambda: opvi.Objective(opvi.KL()), DENSITIES, 2e-2, 1500),
    "renyi_half": Row(lambda: opvi.Objective(opvi.Renyi(0.5)), DENSITIES, 1e-2, 1500),
    "renyi_2": Row(lambda: opvi.Objective(opvi.Renyi(2.0)), DENSITIES, 1e-2, 1500),
    "chi": Row(lambda: opvi.Objective(opvi.Chi()), DENSITIES, 1e-2, 1500),
    "inclusive_kl": Row(lambda: opvi.Objective(opvi.InclusiveKL()), DENSITIES, 1e-2, 1500),
    "fisher": Row(lambda: opvi.Objective(opvi.Fisher()), SCORES, 1e-2, 1500),
    "ls_neural": Row(lambda: _stein(_neural()), SCORES, 5e-3, 1500),
    "ls_neural_annealed": Row(lambda: _stein(_neural()), SCORES, 5e-3, 1500, annealed=True),
    "ls_bounded": Row(
        lambda: _stein(_neural(ball=opvi.BoundedNorm(2.0)), opvi.Square()), SCORES, 5e-3, 1000
    ),
    "ls_linear": Row(lambda: _stein(opvi.LinearTestFunction()), SCORES, 5e-3, 1000),
    "ls_kernel": Row(
        lambda: _stein(opvi.KernelBall(statistic=opvi.TwoBatches())),
        SCORES,
        1e-2,
        1000,
        functional=False,
    ),
    "ls_features": Row(
        lambda: _stein(opvi.Features(_few(), statistic=opvi.TwoBatches())), SCORES, 1e-2, 1000
    ),
    "diffusion": Row(
        lambda: opvi.Objective(opvi.DiffusionStein(_tamed), _neural()), SCORES, 5e-3, 1000
    ),
}

FAMILIES: dict[str, Callable[[jax.Array], opvi.AbstractFamily]] = {
    "mean_field": lambda key: opvi.MeanField(shapes.DIM),
    "full_rank": lambda key: opvi.FullRank(shapes.DIM),
    "student_t": lambda key: opvi.StudentT(shapes.DIM, dof=shapes.DOF),
    "mixture": lambda key: _mixture(STARTS, 0.8),
    "flow": lambda key: opvi.Flow(shapes.DIM, key=key, layers=4, width=16),
    "program": lambda key: opvi.MLPProgram(shapes.DIM, key=key, width=32, activation=jax.nn.gelu),
    "semi_implicit": lambda key: opvi.SemiImplicitProgram(
        shapes.DIM, key=key, width=32, switches=1
    ),
    "student_t_program": lambda key: opvi.StudentTProgram(
        shapes.DIM, key=key, width=32, dof=shapes.DOF
    ),
    "weighted_program": lambda key: _weighted_program(key, STARTS),
}
# A component on each side: what can be learned of the weights does not hang on finding the modes.
STARTS = ((-1.0, 0.0), (1.0, 0.0))

# Started at p but for its weights, which are equal: what does the objective do about them?
BETWEEN, AT_THE_MODES = "between", "at the modes"


def start(family: str, shape: shapes.Shape, where: str, key: jax.Array) -> opvi.AbstractFamily:
    if where == BETWEEN:
        return FAMILIES[family](key)
    centre = shapes.CENTRES[shape.name]
    modes = ((-centre, 0.0), (centre, 0.0))
    if family == "mixture":
        return _mixture(modes, shapes.NARROW)
    return _weighted_program(key, modes)


def starts(family: str, shape: shapes.Shape) -> tuple[str, ...]:
    """From where the shape is fitted: the far modes only from their own places."""
    weighted = family in ("mixture", "weighted_program") and shape.name in shapes.CENTRES
    at = (AT_THE_MODES,) if weighted else ()
    return at if shape.name == "far" else (BETWEEN, *at)


def _mixture(centres: Centres, sd: float) -> opvi.AbstractFamily:
    return opvi.Mixture(
        [opvi.FullRank(shapes.DIM, loc=jnp.asarray(m), scale_tril=sd) for m in centres]
    )


def _weighted_program(key: jax.Array, centres: Centres) -> opvi.AbstractFamily:
    """Each label has variance 1 - spread^2 = .6^2 at the start."""
    q = opvi.WeightedProgram(shapes.DIM, key=key, width=32, spread=0.8)
    return eqx.tree_at(lambda q: q.locs, q, jnp.asarray(centres))


FULL = Size(1.0, tuple(OBJECTIVES), tuple(FAMILIES), tuple(s.name for s in shapes.SHAPES))
QUICK = Size(
    0.5,
    ("kl", "fisher", "ls_neural"),
    ("mixture", "semi_implicit"),
    ("modes", "gaussian", "far"),
)


def pairs(size: Size) -> tuple[tuple[str, str], ...]:
    """Every objective with every family that the library's own checks admit.

    Annealing is shown for the families that have no density: the others have KL.
    """
    return tuple(
        (objective, family)
        for objective in size.objectives
        for family in size.families
        if estimator(objective, family) is not None
        and not (OBJECTIVES[objective].annealed and _has_density(family))
    )


def _has_density(family: str) -> bool:
    return isinstance(_made(family), opvi.AbstractTractableFamily)


@cache
def _made(family: str) -> opvi.AbstractFamily:
    """One for the checks, which look at its type."""
    return FAMILIES[family](jax.random.key(0))


def estimator(objective: str, family: str) -> opvi.AbstractEstimator | None:
    """The first of these that the pair admits; None where there is none."""
    row, q = OBJECTIVES[objective], _made(family)
    made = row.objective()
    for one in (
        opvi.PathGradient(draws=64),
        *([opvi.FunctionalGradient(draws=128)] if row.functional else []),
        opvi.Reparameterised(draws=128),
    ):
        try:
            made.check(q)
            one.check(made, q)
        except opvi.IncompatibleError:
            continue
        return one
    return None


def solver(objective: str, family: str, size: Size) -> tuple[opvi.MinMax, int]:
    """What fits the pair (to the first shape, until another is put in), and in how many steps."""
    row, of = OBJECTIVES[objective], estimator(objective, family)
    assert of is not None
    made = row.objective()
    stein = isinstance(made.operator, opvi.AbstractSteinOperator)
    steps, critic_steps = round(size.steps * row.steps), 5 if stein else 1
    return (
        opvi.MinMax(
            shapes.target(shapes.SHAPES[0]),
            made,
            of,
            opvi.adam(row.rate, steps),
            opvi.adam(row.rate, steps * critic_steps),
            critic_steps=critic_steps,
            temperature=opvi.linear_annealing(steps) if row.annealed else None,
        ),
        steps,
    )
