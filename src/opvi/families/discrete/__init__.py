"""Families over finitely many states: a mass function instead of a density, and no reparameterisation."""
