"""Counts the failures in the worker's log by error."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError

from ticketctl.aws.aws_errors import is_not_there
from ticketctl.aws.stack import Stack, location_of
from ticketctl.cli.errors import CloudError
from ticketctl.cli.output import counted, print_json, print_line, sanitized
from ticketctl.cli.pages import docs
from ticketctl.failures.cures import CRASH, CURES, OTHERS

MOST_LINES: Final = 10_000
"""CloudWatch Logs API reference, StartQuery, `limit`."""

_QUERY: Final = f"""fields @timestamp, @message
| filter @message like /"level": ?"(WARNING|ERROR)"|\\[ERROR\\]|Task timed out|Runtime exited|INIT_REPORT .*Status: (error|timeout)/
| sort @timestamp desc
| limit {MOST_LINES}"""  # noqa: E501 - a pipe in the expression cannot be broken.

_CRASHED: Final = re.compile(
    r"\[ERROR\] (?P<error>[\w.]+)|Task timed out|Runtime exited|Status: \w+"
)
_PATIENCE_SECONDS: Final = 300
"""A query of a day's log takes seconds; CloudWatch Logs gives up after an hour."""

_ENDED: Final = {"Failed", "Cancelled", "Timeout", "Unknown"}
_MOST_NAMED: Final = 3
_WIDTH: Final = 200


@dataclass
class Failure:
    """The lines of one error in the log."""

    error: str
    last: str
    """The time of the newest line, in UTC."""
    example: str
    """The message of the newest line."""
    lines: int = 0
    projects: Counter[str] = field(default_factory=Counter)

    @property
    def cure(self) -> str:
        """The cure, with the address of its section."""
        kind = CRASH if _CRASHED.match(self.example) else self.error
        text, section = CURES.get(kind, CURES[OTHERS])
        return f"{text} {docs()}{section}" if section else text


def show_failures(stack: Stack, hours: int, *, as_json: bool) -> None:
    """Print the failures of the last hours, each with its cure."""
    failures = failures_of(stack, hours)
    if as_json:
        shown = [vars(failure) | {"cure": failure.cure} for failure in failures]
        print_json({"failures": shown})
        return
    print_line(str(location_of(stack)))
    for line in lines_of(failures, hours):
        print_line(line)


def failures_of(stack: Stack, hours: int) -> list[Failure]:
    """Return the failures of the last hours, the most frequent first.

    Raises:
        CloudError: The log group is gone, or the query fails or does not end.
    """
    failures: dict[str, Failure] = {}
    for at, text in _lines(stack, hours):
        error, example, project = _read(text)
        last = f"{at.partition('.')[0].replace(' ', 'T')}Z"
        failure = failures.setdefault(error, Failure(error, last, example))
        failure.lines += 1
        failure.projects.update([project] if project else [])
    return sorted(failures.values(), key=lambda failure: -failure.lines)


def lines_of(failures: Sequence[Failure], hours: int) -> Iterator[str]:
    """Yield the failures as lines for people."""
    span = counted(hours, "hour")
    if not failures:
        yield f"no failures in the last {span}"
    if sum(failure.lines for failure in failures) == MOST_LINES:
        yield f"these are the last {MOST_LINES:,} lines of more: take fewer --hours"
    for failure in failures:
        lines = counted(failure.lines, "line")
        yield f"{failure.error}: {lines}, last {failure.last}{_of(failure)}"
        yield f"  it says: {sanitized(failure.example, _WIDTH)}"
        yield f"  cure: {failure.cure}"


def _of(failure: Failure) -> str:
    if not failure.projects:
        return ""
    most = failure.projects.most_common(_MOST_NAMED)
    named = ", ".join(f"{sanitized(name)} {lines:,}" for name, lines in most)
    more = len(failure.projects) - len(most)
    return f", of {named}" + f" and {more} more" * (more > 0)


def _read(text: str) -> tuple[str, str, str]:
    """Return the error of a line, its message, and its project if it has one."""
    try:
        line = json.loads(text)
    except ValueError:
        line = None
    if not isinstance(line, dict):
        match = _CRASHED.search(text)
        said = text[match.start() :] if match else text
        return (match and (match["error"] or match[0])) or CRASH, said, ""
    # Poison has a field and a reason; all bugs have the same message.
    parts = [line.get(name) for name in ("error", "field", "reason")]
    said = ", ".join(str(part) for part in parts if part)
    error = str(line.get("error_type") or line.get("message") or OTHERS)
    return error, said or error, str(line.get("project_id", ""))


def _lines(stack: Stack, hours: int) -> Iterator[tuple[str, str]]:
    """Yield the time and the text of each line, the newest first."""
    logs, now = stack.client("logs"), datetime.now(UTC)
    group = stack.outputs["WorkerLogGroupName"]
    try:
        query = logs.start_query(
            logGroupName=group,
            startTime=round((now - timedelta(hours=hours)).timestamp()),
            endTime=round(now.timestamp()) + 1,
            queryString=_QUERY,
        )
    except ClientError as error:
        if not is_not_there(error):
            raise
        page = f"{docs()}on-call.md#metricsmissingalarm"
        raise CloudError(f"the log group {group} is gone: see {page}") from error
    answer: dict[str, Any] = {"status": "Scheduled"}
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while answer["status"] != "Complete":
        if time.monotonic() > deadline:
            raise CloudError(
                f"the query of the log has not ended in {_PATIENCE_SECONDS} s: "
                "repeat the command, with fewer --hours"
            )
        time.sleep(1)
        answer = logs.get_query_results(queryId=query["queryId"])
        if answer["status"] in _ENDED:
            raise CloudError(f"the query of the log ended as {answer['status']}")
    for row in answer["results"]:
        values = {cell["field"]: cell["value"] for cell in row}
        yield values["@timestamp"], values["@message"]
