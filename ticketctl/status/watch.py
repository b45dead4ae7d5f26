"""Looks at a stack again and again, until somebody has seen enough."""

import time
from collections.abc import Callable, Iterator
from itertools import count

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ticketctl.cli.output import visible
from ticketctl.status.screen import screen
from ticketctl.status.statistics import Statistics
from ticketctl.system.aws_errors import explained

Look = Callable[[], Statistics]


def looks(
    look: Look, every: float, failed: Callable[[str], None]
) -> Iterator[Statistics]:
    """Yield a look now, and one each so many seconds.

    Args:
        look: Looks once.
        every: Seconds between two looks.
        failed: Told in a line of a later look that failed; the next one may not.

    Raises:
        ClientError: The first look was refused.
        BotoCoreError: AWS could not be reached at the first look.
    """
    for turn in count():
        if turn:
            time.sleep(every)
        try:
            yield look()
        except (BotoCoreError, ClientError) as error:
            if not turn:
                raise
            failed(str(explained(error)))


def watch_screen(look: Look, every: float, console: Console) -> None:
    """Keep a screen up to date; where there is no terminal, print one after another."""
    if not console.is_terminal:
        for stats in looks(look, every, lambda line: console.print(Text(line))):
            console.print(screen(stats))
        return
    with Live(console=console, screen=True, auto_refresh=False) as live:
        shown: list[Statistics] = []

        def failed(line: str) -> None:
            news = Text(f"no news: {visible(line)}", "bold yellow")
            live.update(Group(screen(shown[-1]), news), refresh=True)

        hint = Text(f"every {every:g} s; Ctrl-C ends it", "dim")
        for stats in looks(look, every, failed):
            shown[:] = [stats]
            live.update(Group(screen(stats), hint), refresh=True)
