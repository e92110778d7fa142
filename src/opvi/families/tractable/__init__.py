"""Families with a log density."""
