"""What a start of the function costs, beside a start of boto3 with the same clients."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from benchmarks.function_site import Site

NEVER_LOADED = (
    # What Powertools and Pydantic can do besides; the parser comes with the batch
    # utility if Pydantic is loaded before it, and builds models of many events.
    "aws_xray_sdk",
    "aws_lambda_powertools.event_handler",
    "aws_lambda_powertools.metrics.provider.datadog",
    "aws_lambda_powertools.utilities.idempotency",
    "aws_lambda_powertools.utilities.parser",
    "pydantic.deprecated",
    "pydantic.v1",
    # What only a test or a tool needs.
    "moto",
    "pytest",
    "requests",
    "rich",
    "ticketctl",
    "typer",
    "unittest",
)
"""Modules that a start must not load, with all below them."""

_IMPORT_TIME = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")
_MICROSECONDS = 1e6


@dataclass(frozen=True)
class Sample:
    """Measured more than once: the middle, and where the middle half lies."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Sample":
        """Summarize the values."""
        low, middle, high = (
            quantiles(values, n=4, method="inclusive")
            if len(values) > 1
            else [*values] * 3
        )
        return cls(middle, low, high)


@dataclass(frozen=True)
class Start:
    """Starts of boto3 with the clients and of the function, taken in turn."""

    baseline_processor: Sample
    function_processor: Sample
    baseline_clock: Sample
    function_clock: Sample
    ratio: Sample
    """Of the medians of processor time; its spread is that of the pairs."""
    ratio_clock: Sample


def compare_starts(site: Site, pairs: int, *, bytecode: bool = True) -> Start:
    """Start both in fresh interpreters, in turn, so that a load hits both.

    Args:
        site: What is started.
        pairs: How often.
        bytecode: Whether modules may be kept compiled.

    Raises:
        MeasurementError: A start failed.
    """
    options = () if bytecode else ("-B",)
    config = site.run("probe_start.py", "client-config", options=options).stdout

    def cost(what: str) -> tuple[float, float]:
        clock, processor = site.run(
            "probe_start.py", what, config.strip(), options=options
        ).stdout.split()
        return float(clock), float(processor)

    if bytecode:  # What the first start compiles is no part of the others.
        cost("baseline"), cost("function")
    return _start([(cost("baseline"), cost("function")) for _ in range(pairs)])


def _start(pairs: Sequence[tuple[tuple[float, float], tuple[float, float]]]) -> Start:
    clocks, processors = (
        [(baseline[index], function[index]) for baseline, function in pairs]
        for index in (0, 1)
    )
    return Start(
        baseline_processor=Sample.of([baseline for baseline, _ in processors]),
        function_processor=Sample.of([function for _, function in processors]),
        baseline_clock=Sample.of([baseline for baseline, _ in clocks]),
        function_clock=Sample.of([function for _, function in clocks]),
        ratio=_ratio(processors),
        ratio_clock=_ratio(clocks),
    )


def _ratio(pairs: Sequence[tuple[float, float]]) -> Sample:
    each = Sample.of([function / baseline for baseline, function in pairs])
    baseline, function = (median(side) for side in zip(*pairs, strict=True))
    return Sample(function / baseline, each.low, each.high)


def import_seconds(site: Site, times: int) -> dict[str, float]:
    """Return the own time of every module that a start imports, the longest first.

    The least of several starts: what is more is the machine's.

    Raises:
        MeasurementError: A start failed.
    """
    least: dict[str, float] = {}
    for _ in range(times):
        log = site.run("probe_start.py", "function", options=("-X", "importtime"))
        for name, own in _imports(log.stderr):
            least[name] = min(own, least.get(name, own))
    return dict(sorted(least.items(), key=lambda item: -item[1]))


def _imports(log: str) -> Iterator[tuple[str, float]]:
    for own, name in _IMPORT_TIME.findall(log):
        yield name, int(own) / _MICROSECONDS


def by_package(modules: Mapping[str, float]) -> dict[str, float]:
    """Sum the times of modules by the package that they belong to, longest first."""
    packages: dict[str, float] = {}
    for name, own in modules.items():
        package = name.partition(".")[0]
        packages[package] = packages.get(package, 0) + own
    return dict(sorted(packages.items(), key=lambda item: -item[1]))


def needless_modules(site: Site) -> list[str]:
    """Return the modules that a start loads and must not.

    Raises:
        MeasurementError: The start failed.
    """
    loaded = site.run("probe_start.py", "modules").stdout.split()
    return [
        name
        for name in loaded
        if any(name == each or name.startswith(f"{each}.") for each in NEVER_LOADED)
    ]
