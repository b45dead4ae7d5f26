"""What `ticketctl send` prints: what became of each ticket that was asked for."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar

from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from ticketctl.cli.output import console, notes, print_json_line, visible
from ticketctl.send.preparing import MAX_TOLD, Prepared
from ticketctl.send.sending import Outcome
from ticketctl.watch.heard import Heard

_TITLE_WIDTH: Final = 100
_PREFIX_WIDTH: Final = 64
_MAX_MISSING: Final = 10

Item = TypeVar("Item")


@dataclass
class Report:
    """Prints results to standard output, and all else beside it."""

    name: str
    """What the file is called; empty for a ticket that the options describe."""
    total: int
    as_json: bool
    wait: bool
    """Then the numbers are the result, and that it was sent is a remark."""
    key_prefix: str | None = None
    """What keys were made from, if any were made."""
    sent: int = 0
    refused: list[Outcome] = field(default_factory=list)

    def outcome(self, outcome: Outcome) -> None:
        """Tell what became of a request."""
        if outcome.message_id is None:
            self.refused.append(outcome)
            return
        self.sent += 1
        if self.as_json and not self.wait:
            print_json_line(_sent_json(outcome))
        elif not self.name:
            request = outcome.request
            line = f"sent to {request.project_id} with the idempotency key "
            line += f"{request.idempotency_key} as message {outcome.message_id}"
            (notes() if self.wait else console()).print(line, markup=False)

    def number(self, heard: Heard) -> None:
        """Tell a number."""
        data = heard.data
        if self.as_json:
            print_json_line(data | {"replayed": heard.replayed})
            return
        title = visible(str(data.get("title")), _TITLE_WIDTH)
        line = f"{visible(heard.event_id)}  {visible(str(data['idempotency_key']))}"
        end = "  (replay)" if heard.replayed else ""
        console().print(f"{line}  {title}{end}", markup=False)

    def ended(self) -> None:
        """Tell how many were sent, and which were not."""
        for each in self.refused[:MAX_TOLD]:
            where = f"{self.name}:{each.request.line}: " if self.name else ""
            remark(f"{where}not sent: {visible(each.refusal)}")
        if len(self.refused) > MAX_TOLD:
            remark(f"and {len(self.refused) - MAX_TOLD} more")
        if not self.name:
            return
        line = f"sent {self.sent} of {counted(self.total, 'message')}"
        if self.as_json or self.wait:
            remark(line)
        else:
            console().print(line, markup=False)
        if self.key_prefix is not None:
            prefix = visible(self.key_prefix, _PREFIX_WIDTH)
            remark(
                f"keys made from the prefix {prefix}; another file with it shares them"
            )

    def broken_off(self) -> None:
        """Tell how to go on."""
        remark(
            f"sent {self.sent} of {counted(self.total, 'message')}; the same command "
            "goes on safely: what was sent keeps its number"
            if self.name
            else f"sent {self.sent} of 1 message"
        )

    def missing(self, keys: Iterable[tuple[str, str]], patience: float) -> None:
        """Tell which numbers did not come, and where to look."""
        missing = sorted(keys)
        for project, key in missing[:_MAX_MISSING]:
            remark(f"not announced: {project} {key}")
        if len(missing) > _MAX_MISSING:
            remark(f"and {len(missing) - _MAX_MISSING} more")
        remark(
            f"{len(missing)} of {counted(self.total, 'number')} not announced, after "
            f"{patience:g} seconds without news; a message waits on the queue, or is a "
            "dead letter: see `ticketctl stats` and `ticketctl dead-letters list`"
        )


def remark(line: str) -> None:
    """Print a line beside the results."""
    notes().print(line, markup=False)


def tell_bad_lines(name: str, prepared: Prepared) -> None:
    """Print what is wrong with a file, a line for each bad one."""
    for number, problem in prepared.told:
        remark(f"{name}:{number}: {problem}")
    if prepared.bad > len(prepared.told):
        remark(f"{name}: and {prepared.bad - len(prepared.told)} more bad lines")
    if prepared.repeats:
        remark(
            f"{name}: left out {counted(prepared.repeats, 'line')} that say again what "
            "an earlier one says, under the same key"
        )


def counted(number: int, what: str) -> str:
    """Return a number of things."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


@contextmanager
def progress(
    what: str, total: int | None, *, shown: bool = True
) -> Iterator[Callable[[], None]]:
    """Show on a terminal how far something is; call what this gives for each step."""
    screen = notes()
    columns = SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn()
    with Progress(
        *columns,
        console=screen,
        transient=True,
        disable=not (shown and screen.is_terminal),
        # What goes to standard output must go on doing so.
        redirect_stdout=False,
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def _sent_json(outcome: Outcome) -> dict[str, str | int | None]:
    request = outcome.request
    return {
        "project_id": request.project_id,
        "idempotency_key": request.idempotency_key,
        "message_id": outcome.message_id,
        "line": request.line,
    }
