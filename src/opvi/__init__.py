"""Operator variational inference for JAX.

target = opvi.from_log_density(log_density, like={"mu": 0.0, "tau": 0.0})
posterior = opvi.fit(target, key=jax.random.key(0))
draws = posterior.sample(jax.random.key(1), 4000)
"""

from opvi import diagnostics as diagnostics, plotting as plotting
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
    AbstractControlVariate as AbstractControlVariate,
    AbstractEstimator as AbstractEstimator,
    AbstractSurrogate as AbstractSurrogate,
    FunctionalGradient as FunctionalGradient,
    LeaveOneOut as LeaveOneOut,
    Neighbours as Neighbours,
    NoControlVariate as NoControlVariate,
    PathGradient as PathGradient,
    Regression as Regression,
    Reparameterised as Reparameterised,
    ScoreFunction as ScoreFunction,
    SteinControlVariate as SteinControlVariate,
)
from opvi.families import (
    AbstractAmortised as AbstractAmortised,
    AbstractDiscreteFamily as AbstractDiscreteFamily,
    AbstractFamily as AbstractFamily,
    AbstractMixedFamily as AbstractMixedFamily,
    AbstractReparameterisedFamily as AbstractReparameterisedFamily,
    AbstractSemiImplicitFamily as AbstractSemiImplicitFamily,
    AbstractTractableFamily as AbstractTractableFamily,
    AbstractTransportFamily as AbstractTransportFamily,
    AbstractWeightedFamily as AbstractWeightedFamily,
    Affine as Affine,
    AmortisedFullRank as AmortisedFullRank,
    AmortisedMeanField as AmortisedMeanField,
    AmortisedProgram as AmortisedProgram,
    Autoregressive as Autoregressive,
    BernoulliMeanField as BernoulliMeanField,
    CategoricalMeanField as CategoricalMeanField,
    ConditionalMixedFamily as ConditionalMixedFamily,
    CouplingFlow as CouplingFlow,
    Flow as Flow,
    FlowjaxFamily as FlowjaxFamily,
    FullRank as FullRank,
    FullRankMixture as FullRankMixture,
    LogisticAutoregressive as LogisticAutoregressive,
    LowRank as LowRank,
    MeanField as MeanField,
    MixedFamily as MixedFamily,
    MixedProgram as MixedProgram,
    Mixture as Mixture,
    MLPProgram as MLPProgram,
    Program as Program,
    SemiImplicitProgram as SemiImplicitProgram,
    Shared as Shared,
    SkipMLP as SkipMLP,
    TriangularSplineFlow as TriangularSplineFlow,
    TwoSidedProgram as TwoSidedProgram,
)
from opvi.learning import (
    Learned as Learned,
    ScoreMatching as ScoreMatching,
    SteinLearned as SteinLearned,
    annealed_bound as annealed_bound,
    importance_bound as importance_bound,
    learn as learn,
    learn_by_stein as learn_by_stein,
)
from opvi.objective import Objective as Objective
from opvi.operators import (
    KL as KL,
    AbstractDiscreteSteinOperator as AbstractDiscreteSteinOperator,
    AbstractDivergence as AbstractDivergence,
    AbstractDivergenceOperator as AbstractDivergenceOperator,
    AbstractGradientFreeOperator as AbstractGradientFreeOperator,
    AbstractOperator as AbstractOperator,
    AbstractRatioOperator as AbstractRatioOperator,
    AbstractSteinOperator as AbstractSteinOperator,
    Automatic as Automatic,
    Chi as Chi,
    CoordinateStein as CoordinateStein,
    DiffusionStein as DiffusionStein,
    DiscreteStein as DiscreteStein,
    DivergenceFree as DivergenceFree,
    Draw as Draw,
    Exact as Exact,
    Fisher as Fisher,
    GibbsStein as GibbsStein,
    Hutchinson as Hutchinson,
    InclusiveKL as InclusiveKL,
    LangevinStein as LangevinStein,
    MixedStein as MixedStein,
    Renyi as Renyi,
)
from opvi.posterior import (
    PoorFitWarning as PoorFitWarning,
    Posterior as Posterior,
    Status as Status,
    Verdict as Verdict,
)
from opvi.recipes import (
    Comparison as Comparison,
    ComparisonRow as ComparisonRow,
    NUTSDraws as NUTSDraws,
    Posteriors as Posteriors,
    compare as compare,
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
    AmortisedTestFunction as AmortisedTestFunction,
    BoundedNorm as BoundedNorm,
    L2Ball as L2Ball,
    LinearTestFunction as LinearTestFunction,
    NeuralTestFunction as NeuralTestFunction,
    NoTestFunction as NoTestFunction,
    StateTestFunction as StateTestFunction,
    TableTestFunction as TableTestFunction,
)

__version__ = "0.1.0"
