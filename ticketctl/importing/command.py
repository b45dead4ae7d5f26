"""Imports a file of tickets, as its command asks."""

from collections.abc import Callable
from dataclasses import dataclass

from ticketctl.aws.items import timestamp_now
from ticketctl.aws.rate_limiter import RateLimiter
from ticketctl.aws.stack import Stack, caller_arn, limits_of, location_of
from ticketctl.cli.arguments import checked_project
from ticketctl.cli.errors import Status
from ticketctl.cli.output import console, with_progress
from ticketctl.cli.prompts import confirm
from ticketctl.files.json_lines import open_lines
from ticketctl.importing.judging import Judge
from ticketctl.importing.lines import Defaults, read_tickets
from ticketctl.importing.planning import judge_all
from ticketctl.importing.report import (
    counts_of,
    left_out,
    plan,
    print_refused,
    reject_beyond,
    summary,
    verify_all,
    warnings,
)
from ticketctl.importing.writing import REFUSED, Import


@dataclass(frozen=True)
class Choices:
    """The options of an import."""

    project: str | None = None
    """Of tickets that name none."""
    dry_run: bool = False
    verify: bool = False
    rate: int | None = None
    yes: bool = False


def import_file(
    find_stack: Callable[[], Stack], program: str, file: str, choices: Choices
) -> Status:
    """Import a file; or print the plan, or what the tables lack, and write nothing."""
    if choices.project is not None:
        checked_project(choices.project)
    defaults = Defaults(timestamp_now(), choices.project, program)
    with open_lines(file, f"{program} import") as lines:
        tickets = read_tickets(lines, file, defaults)
    stack = find_stack()
    judge = Judge(caller_arn(stack), stack.retention_days, program)
    limiter = RateLimiter(choices.rate)
    reading = judge_all(stack, judge, tickets, limiter)
    with with_progress(reading, "comparing", len(tickets)) as judging:
        judged = [*judging]
    if choices.verify:
        return Status.OK if verify_all(judged) else Status.PROBLEM
    reject_beyond(limits_of(stack), judged, file)
    said = [*plan(stack, tickets), *counts_of(judged)]
    warned = [*warnings(stack, tickets)]
    refused = print_refused(judged, file)
    if not choices.dry_run:
        asked = [location_of(stack), *said, *warned, "This cannot be undone. Go on?"]
        confirm("\n".join(asked), yes=choices.yes)
        counts = Import(stack, judge, limiter=limiter).run(judged, file)
        refused += counts[REFUSED]
        said = [summary(counts, len(judged), refused)]
    console().print("\n".join([*said, *warned, *left_out(judged)]), markup=False)
    has_other = any(planned.has_other_time for planned in judged)
    return Status.PROBLEM if refused or has_other else Status.OK
