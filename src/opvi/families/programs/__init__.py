"""Variational programs: families that can be sampled but whose density cannot be written down."""
