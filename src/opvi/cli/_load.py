"""`FILE.py:name`: a target out of a file of one's own."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

from opvi import AbstractTarget, OpviError
from opvi._core.errors import require, teach


def load_target(where: str, command: str) -> AbstractTarget:
    """What `where` names: a target, or a function without arguments that makes one."""
    write = f"opvi {command} model.py:target"
    file, colon, name = where.rpartition(":")
    require(
        bool(colon and file and name.isidentifier()),
        OpviError,
        expected="a file and a name in it, FILE.py:NAME",
        got=repr(where),
        write=write,
    )
    path = Path(file)
    require(path.is_file(), OpviError, expected="a Python file", got=f"no file {file}", write=write)
    module = _execute(path, command)
    defined = [n for n in vars(module) if not n.startswith("_")]
    require(
        hasattr(module, name),
        OpviError,
        expected=f"a name that {file} defines",
        got=f"{name!r}",
        write=f"opvi {command} {file}:{defined[-1] if defined else 'target'}",
    )
    found: Any = getattr(module, name)
    if callable(found) and not isinstance(found, AbstractTarget):
        found = found()
    require(
        isinstance(found, AbstractTarget),
        OpviError,
        expected=f"{name} in {file} to be a target, or a function that makes one",
        got=f"a {type(found).__name__}",
        write=f"{name} = opvi.from_numpyro(model, ...)  # or from_log_density(fn, like)",
    )
    return found


def _execute(path: Path, command: str) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise OpviError(teach("a Python file", str(path), f"opvi {command} model.py:target"))
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))  # its neighbours, as `python FILE.py` would
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module
