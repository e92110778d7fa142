"""The forward algorithm in log space, for hidden Markov models with few states."""

import jax


def forward_log_likelihood(log_emission, log_transition):
    """log p(y_1..T), summed over hidden paths, up to the constant of a uniform first state.

    `log_emission` (T, K) is log p(y_t | state k); `log_transition` (K, K) is log p(k | j) in row j.
    """

    def step(log_alpha, log_emission_t):
        return jax.nn.logsumexp(log_alpha[:, None] + log_transition, axis=0) + log_emission_t, None

    log_alpha, _ = jax.lax.scan(step, log_emission[0], log_emission[1:])
    return jax.nn.logsumexp(log_alpha)
