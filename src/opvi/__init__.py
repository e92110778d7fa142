"""Operator variational inference for JAX.

target = opvi.from_log_density(log_density, like={"mu": 0.0, "tau": 0.0})
posterior = opvi.fit(target, key=jax.random.key(0))
draws = posterior.sample(jax.random.key(1), 4000)
"""

from opvi import diagnostics as diagnostics
from opvi._core.errors import (
    IncompatibleError as IncompatibleError,
    InvalidTargetError as InvalidTargetError,
    OpviError as OpviError,
)
from opvi.distances import (
    AbstractDistance as AbstractDistance,
    Identity as Identity,
    Logarithm as Logarithm,
    SelfNormalised as SelfNormalised,
    Square as Square,
)
from opvi.estimators import (
    AbstractEstimator as AbstractEstimator,
    FunctionalGradient as FunctionalGradient,
    PathGradient as PathGradient,
    Reparameterised as Reparameterised,
)
from opvi.families import (
    AbstractFamily as AbstractFamily,
    AbstractReparameterisedFamily as AbstractReparameterisedFamily,
    AbstractSemiImplicitFamily as AbstractSemiImplicitFamily,
    AbstractTractableFamily as AbstractTractableFamily,
    AbstractTransportFamily as AbstractTransportFamily,
    AbstractWeightedFamily as AbstractWeightedFamily,
    Affine as Affine,
    CouplingFlow as CouplingFlow,
    Flow as Flow,
    FlowjaxFamily as FlowjaxFamily,
    FullRank as FullRank,
    LowRank as LowRank,
    MeanField as MeanField,
    MLPProgram as MLPProgram,
    Program as Program,
    SemiImplicitProgram as SemiImplicitProgram,
    SkipMLP as SkipMLP,
    TriangularSplineFlow as TriangularSplineFlow,
    TwoSidedProgram as TwoSidedProgram,
)
from opvi.objective import Objective as Objective
from opvi.operators import (
    KL as KL,
    AbstractDivergence as AbstractDivergence,
    AbstractDivergenceOperator as AbstractDivergenceOperator,
    AbstractOperator as AbstractOperator,
    AbstractRatioOperator as AbstractRatioOperator,
    AbstractSteinOperator as AbstractSteinOperator,
    Automatic as Automatic,
    Chi as Chi,
    DiffusionStein as DiffusionStein,
    DivergenceFree as DivergenceFree,
    Draw as Draw,
    Exact as Exact,
    Fisher as Fisher,
    Hutchinson as Hutchinson,
    InclusiveKL as InclusiveKL,
    LangevinStein as LangevinStein,
    Renyi as Renyi,
)
from opvi.posterior import (
    PoorFitWarning as PoorFitWarning,
    Posterior as Posterior,
    Status as Status,
    Verdict as Verdict,
)
from opvi.recipes import (
    NUTSDraws as NUTSDraws,
    Posteriors as Posteriors,
    fit as fit,
    fit_many as fit_many,
    nuts as nuts,
)
from opvi.solver import (
    AbstractProgress as AbstractProgress,
    History as History,
    MinMax as MinMax,
    NoProgress as NoProgress,
    Result as Result,
    RichProgress as RichProgress,
    Solution as Solution,
    State as State,
    adam as adam,
    linear_annealing as linear_annealing,
    solve as solve,
)
from opvi.targets import (
    AbstractDiscreteTarget as AbstractDiscreteTarget,
    AbstractFactorisedTarget as AbstractFactorisedTarget,
    AbstractMixedTarget as AbstractMixedTarget,
    AbstractSubsampledTarget as AbstractSubsampledTarget,
    AbstractTarget as AbstractTarget,
    DiscreteTarget as DiscreteTarget,
    KeepUnobserved as KeepUnobserved,
    MixedTarget as MixedTarget,
    NumPyroTarget as NumPyroTarget,
    TemperedTarget as TemperedTarget,
    WhitenedTarget as WhitenedTarget,
    from_factors as from_factors,
    from_likelihood as from_likelihood,
    from_log_density as from_log_density,
    from_numpyro as from_numpyro,
)
from opvi.testfunctions import (
    AbstractBall as AbstractBall,
    AbstractTestFunction as AbstractTestFunction,
    AbstractTestFunctionFamily as AbstractTestFunctionFamily,
    BoundedNorm as BoundedNorm,
    L2Ball as L2Ball,
    LinearTestFunction as LinearTestFunction,
    NeuralTestFunction as NeuralTestFunction,
    NoTestFunction as NoTestFunction,
)

__version__ = "0.1.0"
