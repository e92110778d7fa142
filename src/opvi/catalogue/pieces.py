"""The pieces, one row each: a name as one would write it, and how to make a small one.

A new piece is one row here, and `compatibility` knows what it goes with: it asks the checks of the
pieces themselves. A test holds these rows to everything that `opvi` exports.
"""

from collections.abc import Callable, Mapping

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from opvi._core.domains import Box
from opvi._core.types import Array, Key
from opvi.distances import (
    AbstractDistance,
    Identity,
    Logarithm,
    PlugIn,
    Polynomial,
    SelfNormalised,
    Square,
)
from opvi.estimators import (
    AbstractEstimator,
    FunctionalGradient,
    PathGradient,
    Reparameterised,
    ScoreFunction,
    SteinControlVariate,
)
from opvi.families import (
    AbstractFamily,
    Affine,
    Autoregressive,
    BernoulliMeanField,
    CategoricalMeanField,
    ConditionalMixedFamily,
    CouplingFlow,
    Flow,
    FullRank,
    LogisticAutoregressive,
    LowRank,
    MeanField,
    MixedFamily,
    MixedProgram,
    Mixture,
    MLPProgram,
    Product,
    Program,
    SemiImplicitProgram,
    Squashed,
    StudentT,
    StudentTProgram,
    TriangularSplineFlow,
    TwoSidedProgram,
    WeightedProgram,
)
from opvi.operators import (
    KL,
    AbstractOperator,
    AbstractRatioOperator,
    Chi,
    CoordinateStein,
    DiffusionStein,
    DiscreteStein,
    DivergenceFree,
    Features,
    Fisher,
    GibbsStein,
    InclusiveKL,
    KernelBall,
    LangevinStein,
    MixedStein,
    Renyi,
    TwoBatches,
)
from opvi.testfunctions import (
    AbstractTestFunctionFamily,
    BoundedNorm,
    LinearTestFunction,
    NeuralTestFunction,
    NoTestFunction,
    StateTestFunction,
    TableTestFunction,
    VanishingTestFunction,
)

STATES = (2, 2)


def _tails(z: Array) -> Array:
    return jnp.diag(1.0 / (1.0 + z**2))


OPERATORS: Mapping[str, Callable[[], AbstractOperator]] = {
    "KL": KL,
    "Renyi": lambda: Renyi(0.5),
    "Chi": Chi,
    "InclusiveKL": InclusiveKL,
    "Fisher": Fisher,
    "LangevinStein": LangevinStein,
    "LangevinStein(DivergenceFree())": lambda: LangevinStein(DivergenceFree()),
    "DiffusionStein": lambda: DiffusionStein(_tails),
    "DiscreteStein": DiscreteStein,
    "CoordinateStein": CoordinateStein,
    "GibbsStein": GibbsStein,
    "MixedStein": MixedStein,
}


def _outputs(operator: AbstractOperator) -> int | None:
    return 1 if isinstance(operator, DiscreteStein) else None


# From the operator, because one of them takes functions with a single number.
TEST_FUNCTIONS: Mapping[str, Callable[[AbstractOperator], AbstractTestFunctionFamily]] = {
    "NoTestFunction": lambda operator: NoTestFunction(),
    "LinearTestFunction": lambda operator: LinearTestFunction(),
    "NeuralTestFunction": lambda operator: NeuralTestFunction(width=4, depth=1),
    "NeuralTestFunction(ball=BoundedNorm())": lambda operator: NeuralTestFunction(
        width=4, depth=1, ball=BoundedNorm()
    ),
    "VanishingTestFunction": lambda operator: VanishingTestFunction(
        NeuralTestFunction(width=4, depth=1), Box(-1.0, 1.0)
    ),
    "KernelBall": lambda operator: KernelBall(),
    "KernelBall(statistic=TwoBatches())": lambda operator: KernelBall(statistic=TwoBatches()),
    "Features": lambda operator: Features(),
    "Features(statistic=TwoBatches())": lambda operator: Features(statistic=TwoBatches()),
    "StateTestFunction": lambda operator: StateTestFunction(
        cardinalities=STATES, outputs=_outputs(operator), width=4, depth=1
    ),
    "StateTestFunction(ball=BoundedNorm())": lambda operator: StateTestFunction(
        cardinalities=STATES, outputs=_outputs(operator), width=4, depth=1, ball=BoundedNorm()
    ),
    "TableTestFunction": lambda operator: TableTestFunction(
        cardinalities=STATES, outputs=_outputs(operator)
    ),
}


def _logarithm(operator: AbstractOperator) -> AbstractDistance:
    """The operator's own scale, where it has one."""
    own = operator.distance if isinstance(operator, AbstractRatioOperator) else None
    return own if isinstance(own, Logarithm) else Logarithm(1.0)


DISTANCES: Mapping[str, Callable[[AbstractOperator], AbstractDistance]] = {
    "Identity": lambda operator: Identity(),
    "Square": lambda operator: Square(),
    "Polynomial": lambda operator: Polynomial((0.0, 0.0, 1.0, 0.0, 1.0)),
    "PlugIn": lambda operator: PlugIn(lambda a: jnp.sqrt(1.0 + a**2) - 1.0),
    "Logarithm": _logarithm,
    "SelfNormalised": lambda operator: SelfNormalised(),
}


def _network(key: Key) -> eqx.nn.MLP:
    return eqx.nn.MLP(2, 2, 4, 1, jnp.tanh, key=key)


FAMILIES: Mapping[str, Callable[[Key], AbstractFamily]] = {
    "MeanField": lambda key: MeanField(2),
    "FullRank": lambda key: FullRank(2),
    "LowRank": lambda key: LowRank(2, key=key, rank=1),
    "StudentT": lambda key: StudentT(2),
    "Flow": lambda key: Flow(2, key=key, layers=1, width=4),
    "CouplingFlow": lambda key: CouplingFlow(2, key=key, layers=1, width=4),
    "TriangularSplineFlow": lambda key: TriangularSplineFlow(2, key=key, layers=1, knots=4),
    "Affine": lambda key: Affine(MeanField(2), jnp.ones(2), jnp.eye(2)),
    "Squashed": lambda key: Squashed(FullRank(2), Box(-1.0, 1.0)),
    "Product": lambda key: Product([StudentT(1), MeanField(1)]),
    "Mixture": lambda key: Mixture((FullRank(2, loc=-1.0), FullRank(2, loc=1.0))),
    "Program": lambda key: Program(_network(key), 2),
    "MLPProgram": lambda key: MLPProgram(2, key=key, width=4),
    "TwoSidedProgram": lambda key: TwoSidedProgram(key=key, width=4, depth=1),
    "SemiImplicitProgram": lambda key: SemiImplicitProgram(2, key=key, width=4, depth=1),
    "StudentTProgram": lambda key: StudentTProgram(2, key=key, width=4, depth=1),
    "WeightedProgram": lambda key: WeightedProgram(2, key=key, width=4, depth=1),
    "BernoulliMeanField": lambda key: BernoulliMeanField(STATES),
    "CategoricalMeanField": lambda key: CategoricalMeanField(STATES),
    "Autoregressive": lambda key: Autoregressive(STATES, key=key, width=4, depth=1),
    "LogisticAutoregressive": lambda key: LogisticAutoregressive(STATES, key=key),
    "MixedFamily": lambda key: MixedFamily(FullRank(2), CategoricalMeanField(STATES)),
    "ConditionalMixedFamily": lambda key: ConditionalMixedFamily(2, STATES, key=key, width=4),
    "MixedProgram": lambda key: _mixed_program(key),
}


def _mixed_program(key: Key) -> MixedProgram:
    program = SemiImplicitProgram(2, key=jr.fold_in(key, 0), width=4, depth=1)
    return MixedProgram(program, Autoregressive(STATES, key=jr.fold_in(key, 1), width=4, depth=1))


# In the order of preference: the first that works is the one to take.
ESTIMATORS: Mapping[str, Callable[[], AbstractEstimator]] = {
    "PathGradient": PathGradient,
    "FunctionalGradient": FunctionalGradient,
    "Reparameterised": Reparameterised,
    "ScoreFunction": ScoreFunction,
    "ScoreFunction(rao_blackwell=True)": lambda: ScoreFunction(rao_blackwell=True),
    "ScoreFunction(control_variate=SteinControlVariate())": lambda: ScoreFunction(
        control_variate=SteinControlVariate()
    ),
}
