"""Time, gradient evaluations and accuracy of `opvi` beside other methods."""
