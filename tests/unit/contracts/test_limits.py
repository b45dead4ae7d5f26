"""A stack's limits refuse a request, on either side, for the same reason."""

import re
from typing import Any

import boto3
import pytest
from pydantic import ValidationError
from pydantic.alias_generators import to_pascal

from tests.support.builders import create_ticket
from tests.support.environment import ENVIRONMENT
from tests.support.markdown_commands import ROOT
from tests.support.template_loader import parameters, source
from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.contract.limits import Limits
from ticket_numbering.function.settings import Settings
from ticketctl.aws.stack import Stack, limits_of
from ticketctl.cli.errors import CloudError

REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "allowed_projects": (
        "INV-[0-9]{4}",
        {"project_id": "INV-2O26"},
        "InvalidMessageError/project_id",
    ),
}
"""Of each limit: a value, a request that it refuses, and the cause in the event's id.

An event's id stays: subscribers drop repeats by it.
"""


def variables_as_written() -> dict[str, Any]:
    worker = source()["Resources"]["NumberingWorker"]["Properties"]
    written: dict[str, Any] = worker["Environment"]["Variables"]
    return written


def stack_with(**outputs: str) -> Stack:
    return Stack("mine", "eu-west-1", outputs, {}, boto3.Session())


@pytest.mark.parametrize("name", Limits.model_fields)
class TestEveryLimit:
    """It is a parameter of the stack, which worker and command line both know."""

    def test_limit_is_the_parameter_in_the_workers_variable_and_in_the_output(
        self, name: str
    ) -> None:
        spelled = to_pascal(name)

        assert spelled in parameters()
        assert variables_as_written()[name.upper()] == {"Ref": spelled}
        assert source()["Outputs"][spelled]["Value"] == {"Ref": spelled}

    def test_limit_is_on_the_page_of_the_parameters(self, name: str) -> None:
        page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")

        assert f"\n| `{to_pascal(name)}` | " in page

    def test_worker_and_command_line_refuse_the_same_for_the_same_reason(
        self, name: str
    ) -> None:
        value, fields, cause = REFUSED[name]
        request = create_ticket(**fields)

        of_worker = Settings.from_environ(ENVIRONMENT | {name.upper(): value}).limits
        of_outputs = limits_of(stack_with(**{to_pascal(name): value}))

        assert of_worker == of_outputs
        refusal = of_worker.refusal(request)
        assert refusal is not None
        assert f"{type(refusal).__name__}/{refusal.field}" == cause
        assert {to_pascal(name), value} <= {*re.split("[ ,]+", str(refusal))}
        assert Limits().refusal(request) is None

    def test_default_of_the_template_refuses_as_little_as_that_of_the_limits(
        self, name: str
    ) -> None:
        """A stack without the output is of a release that did not know the limit."""
        value = str(parameters()[to_pascal(name)]["Default"])

        assert limits_of(stack_with(**{to_pascal(name): value})) == Limits()


class TestAllowedProjects:
    """A typo opens no sequence."""

    @pytest.mark.parametrize(
        ("project", "is_allowed"),
        [("INV-2026", True), ("WEB", True), ("INV-2O26", False), ("WEB-2", False)],
    )
    def test_project_is_allowed_when_its_whole_id_matches(
        self, project: str, *, is_allowed: bool
    ) -> None:
        limits = Limits(allowed_projects=re.compile("INV-20[0-9]{2}|WEB"))

        refusal = limits.refusal(create_ticket(project))

        assert (
            refusal is None if is_allowed else isinstance(refusal, InvalidMessageError)
        )

    @pytest.mark.parametrize("pattern", ["(", "a{99999999999999999999}"])
    def test_pattern_is_named_on_either_side_when_it_does_not_compile(
        self, pattern: str
    ) -> None:
        """The worker does not start."""
        why = f"is no regular expression: {re.escape(pattern)}: "

        with pytest.raises(CloudError, match=f"AllowedProjects: {why}"):
            limits_of(stack_with(AllowedProjects=pattern))
        with pytest.raises(ValidationError, match=rf"ALLOWED_PROJECTS\n +{why}"):
            Settings.from_environ(ENVIRONMENT | {"ALLOWED_PROJECTS": pattern})
