"""A parameter of the worker is the same in the template and in the settings."""

import re

import pytest
from pydantic import ValidationError

from benchmarks.workloads import Workload
from tests.support.environment import ENVIRONMENT
from tests.support.template_loader import (
    ids_of,
    parameters,
    properties,
    refusals,
    source,
)
from ticket_numbering.contract.limits import Limits
from ticket_numbering.function.settings import Settings

WORKER = source()["Resources"]["NumberingWorker"]["Properties"]
SETTINGS = {
    name: value
    for name, value in WORKER["Environment"]["Variables"].items()
    if not name.startswith("POWERTOOLS_")
}
"""The variables of the worker, without those of Powertools."""
FIXED = {"max_attempts", "deadline_reserve_seconds"}
"""Settings that no stack chooses."""
VARIABLES = {
    value["Ref"]: name
    for name, value in SETTINGS.items()
    if value.get("Ref") in parameters()
}
"""By the parameter that each has."""
NUMBERS = [name for name in VARIABLES if str(parameters()[name]["Default"]).isdigit()]

MOST_CHARACTERS = 256
"""Of a version's description; Lambda API Reference, PublishVersion."""


def settings_with(name: str, value: object) -> Settings:
    return Settings.from_environ(ENVIRONMENT | {VARIABLES[name]: str(value)})


def is_accepted(name: str, value: object) -> bool:
    try:
        settings_with(name, value)
    except ValidationError:
        return False
    return True


def longest_value(name: str) -> str:
    """Return a value of the greatest length that a parameter may have."""
    parameter = parameters()[name]
    match parameter:
        case {"AllowedValues": values}:
            return max(map(str, values), key=len)
        case {"MaxValue": most}:
            return str(most)
        case {"MaxLength": most}:
            return "x" * int(most)
    # Every other text of the template may be all digits.
    lengths = range(1, MOST_CHARACTERS + 1)
    return max("1" * n for n in lengths if not refusals(**{name: "1" * n}))


class TestSettings:
    """The settings have the variables, default and bounds of the template."""

    def test_each_setting_has_its_variable_and_each_variable_its_setting(self) -> None:
        chosen = {*Settings.model_fields, *Limits.model_fields} - FIXED - {"limits"}

        assert {name.lower() for name in SETTINGS} == chosen

    @pytest.mark.parametrize("name", VARIABLES)
    def test_default_is_that_of_the_template(self, name: str) -> None:
        default = parameters()[name]["Default"]

        assert settings_with(name, default) == Settings.from_environ(ENVIRONMENT)

    @pytest.mark.parametrize("name", NUMBERS)
    def test_bounds_are_those_of_the_template(self, name: str) -> None:
        """The worker takes a gap that it leaves, too."""
        chosen = [n for n in range(-1, 4_000) if not refusals(**{name: str(n)})]

        assert all(is_accepted(name, number) for number in chosen)
        assert not is_accepted(name, chosen[0] - 1)
        most = parameters()[name].get("MaxValue")
        assert most is None or not is_accepted(name, most + 1)


class TestVersion:
    """A version's description has the parameters that change the worker."""

    def test_description_fits_when_every_value_is_the_longest(self) -> None:
        named = re.findall(r"\$\{(\w+)}", WORKER["VersionDescription"]["Fn::Sub"])
        longest = {name: longest_value(name) for name in named}

        [version] = ids_of("AWS::Lambda::Version")

        assert refusals(**longest) == []
        description = properties(version, **longest)["Description"]
        assert all(value in description for value in longest.values())
        assert len(description) <= MOST_CHARACTERS


def test_default_of_the_benchmarks_is_that_of_the_template() -> None:
    """Their tables have a row "the default"."""
    defaults = {
        name: str(parameter["Default"]) for name, parameter in parameters().items()
    }
    workload = Workload()

    assert {
        "MaximumConcurrency": str(workload.workers),
        "BatchSize": str(workload.batch_size),
        "MaximumBatchingWindow": f"{workload.window:g}",
        "QueueType": workload.queue,
    }.items() <= defaults.items()
