"""`opvi compatibility`: which pieces go together, as a page."""

import opvi

PAGE = """# Which pieces go together

Every operator with every family, class of test functions and distance that the package has: the gradient
there is, or the condition that fails. Nothing of this is written by hand. `opvi.compatibility()` puts the
pieces together and asks their own checks, the same that `Objective(...)` and `opvi.fit` run; this page is
what `opvi compatibility` prints, and a test keeps it up to date.

```python
table = opvi.compatibility()
table.find(operator="KL", family="Program").refused[0].condition  # why not
table.instead(table.find(operator="KL", family="Program").refused[0])  # what does
opvi.compatibility(families={"mine": lambda key: MyFamily(2, key=key)})  # and with a piece of yours
```

"""


def compatibility() -> None:
    """Print the table of all pieces: what goes with what, by which gradient, and why the rest does not."""
    print(PAGE + opvi.compatibility().to_markdown())
