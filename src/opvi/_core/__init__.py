"""Helpers that know no word of inference: types, errors, the flat <-> named map."""
