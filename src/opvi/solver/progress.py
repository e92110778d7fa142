"""Progress: an object told once a chunk how far the run is. It can change neither result nor speed."""

import abc


class AbstractProgress(abc.ABC):
    """Called between chunks, never inside one."""

    @abc.abstractmethod
    def start(self, steps: int, done: int) -> None: ...

    @abc.abstractmethod
    def update(self, done: int, objective: float, skipped: int) -> None: ...

    @abc.abstractmethod
    def close(self) -> None: ...


class NoProgress(AbstractProgress):
    """Says nothing."""

    def start(self, steps: int, done: int) -> None: ...

    def update(self, done: int, objective: float, skipped: int) -> None: ...

    def close(self) -> None: ...


class RichProgress(AbstractProgress):
    """A bar on standard error."""

    def __init__(self, description: str = "fit"):
        self._description = description

    def start(self, steps: int, done: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._description, total=steps, completed=done, note="")
        self._bar.start()

    def update(self, done: int, objective: float, skipped: int) -> None:
        note = f"objective {objective:.4g}" + (f", {skipped} skipped" if skipped else "")
        self._bar.update(self._task, completed=done, note=note)

    def close(self) -> None:
        self._bar.stop()
