"""What `python -m benchmarks.function` prints."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from rich.console import Console
from rich.table import Table

TOP = 15
_MILLISECONDS = 1000
# Its own time holds what is no import.
_NOTES = {"ticket_numbering.handler": "makes the clients"}


def show(measured: Mapping[str, Any], console: Console) -> None:
    """Print the figures as tables: what is promised, and then what explains it."""
    for table in (_targets, _starts, _records, _imports):
        console.print(table(measured))
    if measured["needless"]:
        console.print("needless modules:", ", ".join(measured["needless"]))


def _targets(measured: Mapping[str, Any]) -> Table:
    table = Table("target", "at most", "measured", "", title="targets")
    for each in measured["targets"]:
        verdict = "met" if each["met"] else "NOT MET"
        table.add_row(
            each["name"], f"{each['target']:g}", f"{each['measured']:.4g}", verdict
        )
    return table


def _starts(measured: Mapping[str, Any]) -> Table:
    title = "starts: medians in ms, the ratio's middle half in brackets"
    table = Table("", "boto3 and clients", "function", "ratio", title=title)
    for key, name in (
        ("start", "compiled"),
        ("start_without_bytecode", "not compiled"),
    ):
        for kind, ratio in (("processor", "ratio"), ("clock", "ratio_clock")):
            start = measured[key]
            table.add_row(
                f"{name}, {kind}",
                _milliseconds(start[f"baseline_{kind}"]["median"]),
                _milliseconds(start[f"function_{kind}"]["median"]),
                _spread(start[ratio], ".2f"),
            )
    return table


def _records(measured: Mapping[str, Any]) -> Table:
    title = "warm: processor time a record in µs, the middle half in brackets"
    table = Table("batch of", "own", "with botocore", "peak MB", title=title)
    for size, own in measured["own"].items():
        both = measured["with_botocore"][size]
        peak = f"{both['peak_megabytes']:.0f}"
        own_time, all_time = (
            _spread(each["microseconds"], ".0f") for each in (own, both)
        )
        table.add_row(str(size), own_time, all_time, peak)
    largest = measured["largest"]
    all_time = _spread(largest["microseconds"], ".0f")
    table.add_row("largest", "", all_time, f"{largest['peak_megabytes']:.0f}")
    return table


def _imports(measured: Mapping[str, Any]) -> Table:
    imports, packages = measured["imports"], measured["packages"]
    title = f"imports: own time in ms, of {len(imports)} modules"
    table = Table("module", "ms", "package", "ms", title=title)
    for (module, own), (package, sum_of) in zip(
        islice(imports.items(), TOP), islice(packages.items(), TOP), strict=True
    ):
        note = f" ({_NOTES[module]})" if module in _NOTES else ""
        table.add_row(module + note, _milliseconds(own), package, _milliseconds(sum_of))
    return table


def _milliseconds(seconds: float) -> str:
    return f"{seconds * _MILLISECONDS:.1f}"


def _spread(sample: Mapping[str, float], form: str) -> str:
    middle, low, high = (
        format(sample[each], form) for each in ("median", "low", "high")
    )
    return f"{middle} [{low}-{high}]"
