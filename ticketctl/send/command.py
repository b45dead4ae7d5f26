"""The work of the commands that send a request or a file of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ticket_numbering.contract.limits import Limits
from ticketctl.aws.stack import Stack, limits_of
from ticketctl.cli.errors import Status
from ticketctl.cli.output import console, print_json_line
from ticketctl.files.json_lines import open_lines
from ticketctl.send.checking import Check, check_file, checked_request, keys_of
from ticketctl.send.delivering import Delivery
from ticketctl.send.spool import Spool


def send(
    find_stack: Callable[[], Stack],
    given: Mapping[str, Any],
    seconds: int | None,
    *,
    as_json: bool,
) -> Status:
    """Send a request with these fields; None means absent."""
    fields = {name: value for name, value in given.items() if value is not None}
    checked_request(fields)  # Before the first call of AWS.
    stack = find_stack()
    request = checked_request(fields, limits_of(stack))
    return Delivery(stack, as_json, seconds).run([request])


@dataclass(frozen=True)
class FileChoices:
    """The options for a file."""

    project: str | None = None
    """The project of lines without one."""
    key_prefix: str | None = None
    skip_invalid: bool = False
    unchecked: bool = False
    rate: int | None = None
    seconds: int | None = None
    """The seconds to wait for a number; None for no wait."""
    as_json: bool = False


def send_file(
    find_stack: Callable[[], Stack] | None,
    program: str,
    file: str,
    choices: FileChoices,
) -> Status:
    """Send the requests of a file; without `find` only check them."""
    keys, status = keys_of(file, choices.key_prefix), Status.OK
    with open_lines(file, f"{program} send-file") as lines, Spool() as spool:
        stack = find_stack() if find_stack else None
        limits = limits_of(stack) if stack else Limits()
        check = Check(
            choices.project,
            keys,
            limits,
            unchecked=choices.unchecked,
            skip_invalid=choices.skip_invalid,
        )
        bad = check_file(file, lines, check, spool)
        if stack:
            as_json, seconds, rate = choices.as_json, choices.seconds, choices.rate
            delivery = Delivery(stack, as_json, seconds, rate, is_file=True)
            status = delivery.run(spool, len(spool))
        elif choices.as_json:
            print_json_line({"good": len(spool), "bad": bad})
        else:
            console().print(f"good tickets: {len(spool)}; nothing is sent")
    return status or (Status.PROBLEM if bad else Status.OK)
