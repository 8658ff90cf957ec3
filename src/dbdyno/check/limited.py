"""A task with a time limit, in a thread of its own that does not keep the program from ending."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Limited(Generic[T]):
    """Starts at once; `result` waits for it, at most until the limit."""

    def __init__(self, task: Callable[[], T]) -> None:
        self._task = task
        self._result: T | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._task()
        except BaseException as error:  # handed to whoever waits
            self._error = error

    def result(self, limit_s: float) -> T | None:
        """What the task returned. Raises `TimeoutError` at the limit, and whatever the task raised."""
        self._thread.join(limit_s)
        if self._thread.is_alive():
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._result
