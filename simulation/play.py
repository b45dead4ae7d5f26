"""Plays the history of a seed, in silence, and on all cores."""

import contextlib
import logging
import multiprocessing
import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from simulation.engine.choices import RandomChoices
from simulation.execution_environment import SHIPPED, Algorithm
from simulation.scenario import random_scenario
from simulation.world import Outcome, World
from ticket_numbering.observability import logger


def play(seed: int, algorithm: Algorithm = SHIPPED) -> Outcome:
    """Play the history of a seed."""
    choices = RandomChoices(seed)
    return World(random_scenario(choices), choices, algorithm).run()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress the function's log lines and metrics."""
    level = logger.log_level
    logger.setLevel(logging.CRITICAL)
    try:
        with (
            Path(os.devnull).open("w", encoding="utf-8") as devnull,
            contextlib.redirect_stdout(devnull),
            warnings.catch_warnings(),
        ):
            # All execution environments share one process, and so one set of metrics.
            warnings.filterwarnings("ignore", "No application metrics")
            yield
    finally:
        logger.setLevel(level)


def all_cores() -> ProcessPoolExecutor:
    """Return a process for each core."""
    # To fork a process with threads is unsafe, and pytest has some.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(os.cpu_count() or 1, context)
