"""A stack's limits refuse a request, on either side, for the same reason."""

import re
import time
from typing import Any, NamedTuple

import pytest
from pydantic import ValidationError
from pydantic.alias_generators import to_pascal

from tests.support.builders import create_ticket
from tests.support.ctl_process import canned_stack
from tests.support.environment import ENVIRONMENT
from tests.support.sample_messages import SAMPLES
from tests.support.template_loader import parameters, refusals, source
from ticket_numbering.contract.limits import Limits
from ticket_numbering.function.settings import Settings
from ticketctl.aws.stack import limits_of
from ticketctl.cli.errors import CloudError

Fields = dict[str, Any]

LONGEST_IDS = [text[:64] for text in ("A" * 64, "A-" * 32, "A" * 31 + "0" * 33)]
ALLOWED = [
    ".*",
    "INV-20[0-9]{2}|WEB[.].*",
    "(WEB|INV|OPS)-(DE|FR)-[0-9]+",
    "[A-Z]+(-[A-Z]+)?",
    "[)(]+[0-9]{4}",
    "(WEB|API)(-EU|-US)?(-[0-9]{4})?",
    "[A-Z][A-Z0-9]+-[A-Z]+(-[a-z]+)?",
    "[A-Z.-]*[A-Z.-]*[A-Z.-]*(-[a-z])?[0-9]{4}",
    "[A-Z]{1,64}[A-Z]{1,64}[A-Z]{1,64}(A(A)):",
    f"A*A*A*({'AA|' * 40}AA):",
    f"({'A|' * 33}A)({'A|' * 33}A)A*A*:",
    f"({'A|' * 22}A)({'A|' * 22}A)({'A|' * 22}A)A*:",
    f"({'A|' * 13}A)" * 5 + ":",
]
"""The documented ones, then the slowest of each kind."""

SLOW = [
    "([A-Z]+-?)+[0-9]{4}",
    "(?:A|A)*",
    "(A+){1,}",
    "((A+))+?",
    "[A-Z]+" * 5 + "[0-9]",
    "A?" * 40 + "A" * 20,
    "A{0,9}" * 16,
    "(A|AA)" * 6,
    "A*A*A*A*:",
    "A*A*A*(A|A|A|A)(A|A|A|A):",
    f"({'A|' * 16}A)" * 4 + "A*:",
    f"({'|' * 60})A*A*A*:",
    "(A|A|)A*A*A*:",
]


class Trial(NamedTuple):
    """A value of a limit, and the outcomes of two requests."""

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
        refused={"project_id": "INV-20260"},  # Its whole id counts.
        cause="InvalidMessageError/project_id",
    )
}


@pytest.mark.parametrize("name", Limits.model_fields)
class TestEveryLimit:
    """It is a parameter of the stack, which worker and command line both know."""

    def test_limit_is_the_parameter_in_the_workers_variable_and_in_the_output(
        self, name: str
    ) -> None:
        spelled = to_pascal(name)
        worker = source()["Resources"]["NumberingWorker"]["Properties"]

        assert spelled in parameters()
        assert worker["Environment"]["Variables"][name.upper()] == {"Ref": spelled}
        assert source()["Outputs"][spelled]["Value"] == {"Ref": spelled}

    def test_worker_and_command_line_refuse_the_same_for_the_same_reason(
        self, name: str
    ) -> None:
        """It names field and limit, and repeats no text."""
        value, allowed, refused, cause = TRIALS[name]

        settings = Settings.from_environ(ENVIRONMENT | {name.upper(): value})
        of_worker = settings.limits
        of_outputs = limits_of(canned_stack({to_pascal(name): value}))

        assert getattr(of_worker, name) == getattr(of_outputs, name)
        assert of_worker.refusal(create_ticket(**allowed)) is None
        assert Limits().refusal(create_ticket(**refused)) is None
        refusal = of_worker.refusal(create_ticket(**refused))
        assert refusal is not None
        assert f"{type(refusal).__name__}/{refusal.field}" == cause
        reason = str(refusal)
        assert reason.startswith(f"{refusal.field}: ")
        assert {to_pascal(name), value} <= {*re.split("[ ,]+", reason)}
        texts = [text for field, text in refused.items() if field != "project_id"]
        assert not any(str(text) in reason for text in texts)


def test_every_valid_request_is_allowed_by_default() -> None:
    """An update of the stack refuses nothing that was accepted before."""
    for name, samples in SAMPLES.items():
        for value in samples.accepted:
            assert Limits().refusal(create_ticket(**{name: value})) is None


class TestAllowedProjects:
    """A typo opens no sequence."""

    @pytest.mark.parametrize("pattern", ALLOWED)
    def test_longest_id_is_looked_at_in_no_time_when_the_pattern_is_allowed(
        self, pattern: str
    ) -> None:
        """Some 100 ms of a processor at worst; the bound is for slow machines."""
        limits = limits_of(canned_stack({"AllowedProjects": pattern}))
        assert refusals(AllowedProjects=pattern) == []

        before = time.process_time()
        for project in LONGEST_IDS:
            limits.refusal(create_ticket(project))
        assert time.process_time() - before < 2 * len(LONGEST_IDS)

    @pytest.mark.parametrize("pattern", SLOW)
    def test_pattern_is_refused_everywhere_when_an_id_could_take_for_ever(
        self, pattern: str
    ) -> None:
        """`re` cannot be interrupted, so one message would use up its whole batch."""
        remedy = parameters()["AllowedProjects"]["ConstraintDescription"]

        assert any(remedy in refusal for refusal in refusals(AllowedProjects=pattern))
        with pytest.raises(
            CloudError, match=re.escape(f"can take too long: {pattern}")
        ):
            limits_of(canned_stack({"AllowedProjects": pattern}))

    @pytest.mark.parametrize("pattern", ["(", "a{99999999999999999999}"])
    def test_pattern_is_named_on_either_side_when_it_does_not_compile(
        self, pattern: str
    ) -> None:
        """The worker does not start."""
        why = f"is no regular expression: {re.escape(pattern)}: "

        with pytest.raises(CloudError, match=f"AllowedProjects: {why}"):
            limits_of(canned_stack({"AllowedProjects": pattern}))
        with pytest.raises(ValidationError, match=rf"ALLOWED_PROJECTS\n +{why}"):
            Settings.from_environ(ENVIRONMENT | {"ALLOWED_PROJECTS": pattern})
