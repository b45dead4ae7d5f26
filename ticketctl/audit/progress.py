"""Shows how far an audit has read, on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ticketctl.cli.output import notes

OnRead = Callable[[int, int, float], None]


@contextmanager
def progress(total: int) -> Iterator[OnRead]:
    """Show a bar while the block runs; it is told tickets, keys and read units.

    Args:
        total: About how many items there are; DynamoDB counts them every six hours.
    """
    out = notes()
    bar = Progress(
        TextColumn("reading"),
        BarColumn(),
        TextColumn("{task.completed:,} of about {task.total:,} items"),
        TextColumn("{task.fields[units]:,.0f} read units"),
        TimeElapsedColumn(),
        console=out,
        transient=True,
        disable=not out.is_terminal,
    )
    with bar:
        task = bar.add_task("", total=total, units=0.0)

        def on_read(tickets: int, keys: int, units: float) -> None:
            read = tickets + keys
            bar.update(task, completed=read, total=max(total, read), units=units)

        yield on_read
