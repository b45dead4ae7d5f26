"""A look at a stack, as one screen for people."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ticketctl.cli.output import visible
from ticketctl.status.alarm_states import Alarm
from ticketctl.status.metric_series import Series
from ticketctl.status.statistics import OLD_SECONDS, Statistics

_BARS: Final = "▁▂▃▄▅▆▇█"
_NOTHING: Final = "·"
_REASON_WIDTH: Final = 100

Row = tuple[str, str, bool]
"""What, how much, and whether it should catch the eye."""


def screen(stats: Statistics) -> RenderableType:
    """Return the whole screen."""
    assigned = stats.series["assigned"]
    peak = _number(assigned.highest)
    lines = [
        Text(f"{stats.stack} in {stats.region}, {stats.at:%Y-%m-%d %H:%M:%S} UTC"),
        _columns(stats),
        Text(f"assigned, minute by minute; at most {peak}"),
        Text(sparkline(assigned), "green"),
        _alarms(stats.alarms),
        Text(
            "now: SQS, approximately; all else: CloudWatch, some minutes late\n"
            "-: CloudWatch has nothing (yet), as of throttles that did not happen",
            style="dim",
        ),
    ]
    lines += [Text(f"not known: {visible(each)}", "yellow") for each in stats.unknown]
    reasons = stats.needs_a_person
    lines += [Text(f"look: {visible(each)}", "bold red") for each in reasons]
    if not reasons:
        calm = "nothing known needs a person" if stats.unknown else "all is well"
        lines.append(Text(calm, style="bold green"))
    return Group(*lines)


def sparkline(series: Series) -> str:
    """Return a character for each minute; the tallest bar is the busiest minute."""
    top = max(series.highest or 0, 1)
    return "".join(
        _NOTHING if each is None else _BARS[round(each / top * (len(_BARS) - 1))]
        for each in series.values
    )


def _columns(stats: Statistics) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("now", "last hour", "worker and tables"):
        table.add_column(header)
        table.add_column(justify="right")
    columns = (_now(stats), _hour(stats), _worker(stats))
    for rows in zip_longest(*columns, fillvalue=("", "", False)):
        table.add_row(*(cell for row in rows for cell in _cells(row)))
    return table


def _cells(row: Row) -> Iterator[Text]:
    what, how_much, alarming = row
    yield Text(what)
    yield Text(how_much, style="bold red" if alarming else "bold")


def _now(stats: Statistics) -> Iterable[Row]:
    age, letters = stats.oldest_seconds, stats.dead_letters.messages
    old = age is not None and age > OLD_SECONDS
    yield "waiting", _number(stats.queue.waiting), False
    yield "delayed", _number(stats.queue.delayed), False
    yield "in flight", _number(stats.queue.in_flight), False
    yield "oldest, from CloudWatch", _age(age), old
    yield "dead letters", _number(letters), letters > 0
    yield "oldest, from CloudWatch", _age(stats.oldest_dead_letter_seconds), False


def _hour(stats: Statistics) -> Iterable[Row]:
    bad = {"poison", "transient_failures", "announcements_failed"}
    for name in (
        "assigned",
        "replayed",
        "poison",
        "transient_failures",
        "announcements_failed",
        "collisions",
        "conflicts",
    ):
        total = stats.series[name].total
        yield name.replace("_", " "), _number(total), name in bad and bool(total)


def _worker(stats: Statistics) -> Iterable[Row]:
    series = stats.series
    for name in ("invocations", "errors", "throttles"):
        total = series[name].total
        yield name, _number(total), name != "invocations" and bool(total)
    slowest = series["p99_milliseconds"].highest
    yield "slowest p99, ms", _number(slowest), False
    for kind in ("reads", "writes"):
        both = [series[f"throttled_{kind}_{table}"] for table in ("tickets", "keys")]
        total = Series([value for each in both for value in each.values]).total
        yield f"throttled {kind}", _number(total), bool(total)


def _alarms(alarms: Iterable[Alarm]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("alarm", "state", "since (UTC)", ""):
        table.add_column(header)
    for alarm in alarms:
        since = f"{alarm.since:%Y-%m-%d %H:%M}" if alarm.since else "-"
        reason = visible(alarm.reason, _REASON_WIDTH) if alarm.is_on else ""
        style = "bold red" if alarm.is_on else ""
        cells = (alarm.name, visible(alarm.state), since, reason)
        table.add_row(*(Text(each, style=style) for each in cells))
    if not table.row_count:
        table.add_row("-", "-", "-", "")
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _age(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = ((days, "d"), (hours, "h"), (minutes, "min"), (rest, "s"))
    shown = [f"{count} {unit}" for count, unit in parts if count]
    return " ".join(shown[:2]) or "0 s"
