"""Autoregression of order K, given the first K values."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpyro
import numpyro.distributions as dist

from ._program import Program


def ark(lags, y):
    alpha = numpyro.sample("alpha", dist.Normal(0, 10))
    beta = numpyro.sample("beta", dist.Normal(0, 10).expand([lags.shape[1]]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfCauchy(2.5))
    with numpyro.plate("T", y.shape[0]):
        numpyro.sample("y", dist.Normal(alpha + lags @ beta, sigma), obs=y)


def _inputs(data: Mapping[str, Any]) -> dict[str, np.ndarray]:
    order, series = data["K"], np.asarray(data["y"], dtype=np.float64)
    lags = np.stack([series[order - k : len(series) - k] for k in range(1, order + 1)], axis=1)
    return {"lags": lags, "y": series[order:]}


ARK = Program(ark, _inputs)
