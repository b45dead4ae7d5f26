"""A look at a stack as JSON; what is not known is null."""

from typing import Any

from ticketctl.status.alarm_states import Alarm
from ticketctl.status.stack_metrics import OWN
from ticketctl.status.statistics import Queue, Statistics

_TOTALS = ("invocations", "errors", "throttles")


def stats_json(stats: Statistics) -> dict[str, Any]:
    """Return what the screen shows, as a JSON object."""
    series = stats.series
    throttled = [each for each in series if each.startswith("throttled_")]
    return {
        "stack": stats.stack,
        "region": stats.region,
        "at": stats.at.isoformat(timespec="seconds"),
        "queue": _queue(stats.queue) | {"oldest_seconds": _whole(stats.oldest_seconds)},
        "dead_letters": {
            "count": stats.dead_letters.messages,
            "oldest_seconds": _whole(stats.oldest_dead_letter_seconds),
        },
        "last_hour": {each: _whole(series[each].total) for each in OWN}
        | {"assigned_per_minute": [_whole(each) for each in series["assigned"].values]},
        "worker": {each: _whole(series[each].total) for each in _TOTALS}
        | {"p99_milliseconds": series["p99_milliseconds"].highest},
        "throttled": {
            each.removeprefix("throttled_"): _whole(series[each].total)
            for each in throttled
        },
        "alarms": [_alarm(each) for each in stats.alarms],
        "needs_a_person": stats.needs_a_person,
        "unknown": list(stats.unknown),
    }


def _whole(value: float | None) -> float | None:
    """Return a count as the whole number that it is."""
    return int(value) if value is not None and value.is_integer() else value


def _queue(queue: Queue) -> dict[str, Any]:
    return {
        "waiting": queue.waiting,
        "delayed": queue.delayed,
        "in_flight": queue.in_flight,
    }


def _alarm(alarm: Alarm) -> dict[str, Any]:
    return {
        "name": alarm.name,
        "state": alarm.state,
        "since": alarm.since.isoformat(timespec="seconds") if alarm.since else None,
        "reason": alarm.reason,
    }
