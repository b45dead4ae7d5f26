"""What people are told while letters are sent back, and of what became of them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.progress import Progress

from ticketctl.cli.errors import CloudError
from ticketctl.cli.output import console, notes, visible
from ticketctl.dead_letters.letters import STAYS_POISON, Letter
from ticketctl.dead_letters.move_task import MoveTasks
from ticketctl.dead_letters.redriving import Redriven


def follow(tasks: MoveTasks, after: int) -> int:
    """Show how far SQS is with a move task, until it ends.

    Returns:
        How many messages were moved.

    Raises:
        CloudError: The task failed, was cancelled, or never showed.
    """
    with Progress(console=notes(), disable=not notes().is_terminal) as progress:
        bar = progress.add_task("moving", total=None)
        try:
            return tasks.follow(
                after,
                lambda moved, total: progress.update(bar, completed=moved, total=total),
            )
        except KeyboardInterrupt:
            notes().print(
                "SQS goes on moving; "
                "`ticketctl dead-letters redrive --cancel` makes it stop"
            )
            raise


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    """Show progress; yields what to tell of how many more are done with."""
    with Progress(console=notes(), disable=not notes().is_terminal) as progress:
        bar = progress.add_task("sending back", total=total)
        yield lambda more: progress.advance(bar, more)


@contextmanager
def told_when_interrupted(done: Redriven) -> Iterator[None]:
    """Say how far sending back came where Ctrl-C ends it."""
    try:
        yield
    except KeyboardInterrupt:
        notes().print(f"sent back {done.sent}, the others are still dead letters")
        raise


def report(done: Redriven) -> None:
    """Print what became of letters that were sent back.

    Raises:
        CloudError: Some are still there.
    """
    console().print(f"dead letters sent back: {done.sent}")
    name_failures(done.unsent | done.undeleted)
    said = []
    if done.unsent:
        said.append(f"{len(done.unsent)} could not be sent and are still dead letters")
    if done.undeleted:
        said.append(
            f"{len(done.undeleted)} were sent but could not be deleted: sent again, "
            "they keep their numbers"
        )
    if said:
        raise CloudError("; ".join(said))


def name_failures(failed: dict[str, str]) -> None:
    """Print why, for each letter, by message id."""
    for message_id, why in failed.items():
        notes().print(f"{message_id}: {visible(why)}", markup=False)


def warn_of_poison(letters: Sequence[Letter]) -> None:
    """Say how many of the letters a redrive cannot help."""
    if poison := sum(each.reason in STAYS_POISON for each in letters):
        notes().print(
            f"{poison} will come back unless the worker has changed: their bodies are "
            "wrong; mend them with `ticketctl dead-letters edit`"
        )


def reasons(letters: Sequence[Letter]) -> str:
    """Return how many letters there are of each reason."""
    counts = Counter(each.reason for each in letters)
    return visible(", ".join(f"{n} {each}" for each, n in counts.most_common()))
