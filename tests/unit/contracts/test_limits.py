"""A stack's limits refuse a request, on either side, for the same reason."""

import re
from typing import Any, NamedTuple

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

Fields = dict[str, Any]


class Trial(NamedTuple):
    """A value of a limit, and what becomes of two requests."""

    value: str
    allowed: Fields
    """A request at the bound; of characters outside ASCII, if the limit takes them."""
    refused: Fields
    cause: str
    """In the id of the refusal, which stays: subscribers drop repeats by it."""


TRIALS = {
    "allowed_projects": Trial(
        "INV-[0-9]{4}",
        allowed={"project_id": "INV-2026"},
        refused={"project_id": "INV-2O26"},
        cause="InvalidMessageError/project_id",
    ),
}


def variables_as_written() -> dict[str, Any]:
    worker = source()["Resources"]["NumberingWorker"]["Properties"]
    written: dict[str, Any] = worker["Environment"]["Variables"]
    return written


def cause_of(limits: Limits, fields: Fields) -> str | None:
    """Return the cause in the id of a request's refusal; None if it is allowed."""
    refusal = limits.refusal(create_ticket(**fields))
    return None if refusal is None else f"{type(refusal).__name__}/{refusal.field}"


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
        value, allowed, refused, cause = TRIALS[name]

        of_worker = Settings.from_environ(ENVIRONMENT | {name.upper(): value}).limits
        of_outputs = limits_of(stack_with(**{to_pascal(name): value}))

        assert of_worker == of_outputs
        assert cause_of(of_worker, refused) == cause
        refusal = of_worker.refusal(create_ticket(**refused))
        assert {to_pascal(name), value} <= {*re.split("[ ,]+", str(refusal))}
        assert cause_of(of_worker, allowed) is None
        assert cause_of(Limits(), refused) is None

    def test_default_of_the_template_refuses_as_little_as_that_of_the_limits(
        self, name: str
    ) -> None:
        """A stack without the output is of a release that did not know the limit."""
        value = str(parameters()[to_pascal(name)]["Default"])

        assert limits_of(stack_with(**{to_pascal(name): value})) == Limits()


def test_cause_is_the_first_limits_when_several_refuse_a_request() -> None:
    """A limit that is put before others would announce an old refusal anew."""
    trials = [TRIALS[name] for name in Limits.model_fields]
    values = {name.upper(): TRIALS[name].value for name in Limits.model_fields}
    refused = {name: value for one in trials for name, value in one.refused.items()}

    limits = Settings.from_environ(ENVIRONMENT | values).limits

    assert cause_of(limits, refused) == trials[0].cause


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
