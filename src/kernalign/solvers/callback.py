"""Observers of a learner: the user's callback and the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

#: Called with the record of each iteration; what it returns is ignored.
Callback = Callable[[dict[str, Any]], object]

logger = logging.getLogger("kernalign.learners")


def asked_to_stop(callback: Callback | None, record: dict[str, Any]) -> bool:
    """Log the record of an iteration and pass it to the callback; return whether to stop.

    A callback stops the learner by raising StopIteration, as in scipy.optimize. A returned value
    would be ambiguous, because progress bars may return True.
    """
    logger.debug("%s", record)
    if callback is None:
        return False
    try:
        callback(record)
    except StopIteration:
        logger.info("stopped by the callback after iteration %s", record["iteration"])
        return True
    return False


def check_callback(owner: object, callback: Any) -> None:
    """Check that a callback is a function of one record, or None."""
    if callback is not None and not callable(callback):
        raise ValueError(
            f"The 'callback' parameter of {type(owner).__name__} must be None or a function of one "
            f"record. Got {callback!r} instead."
        )
