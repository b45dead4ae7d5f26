"""An edited dead letter is one that the worker accepts."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.builders import ticket_fields
from tests.support.cases import plain_id
from tests.support.dead_letter_queue import Harness, dead_letter
from ticket_numbering.contract.envelope import text_attribute
from ticketctl.cli.errors import CloudError, InputError
from ticketctl.commands.dead_letters import edit
from ticketctl.dead_letters.views import laid_out

ACCEPTED = json.dumps(ticket_fields("PROJ", "k-1"))
OTHER = json.dumps(ticket_fields("PROJ", "k-1", title="Another"))
NOT_ALLOWED = json.dumps(ticket_fields("WEB", "k-1"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"a":"ü","b":[1]}', '{\n  "a": "ü",\n  "b": [\n    1\n  ]\n}'),
        (r'{"a":"\ud800 ü"}', '{\n  "a": "\\ud800 ü"\n}'),
        *[
            (body, body)
            for body in (
                "{nonsense",
                "7",
                '{"a": 1, "a": 2}',
                f'{{"a": {"9" * 5000}}}',
                "[" * 50_000,
            )
        ],
    ],
    ids=plain_id,
)
def test_body_is_laid_out_when_nothing_of_it_gets_lost(
    body: str, expected: str
) -> None:
    assert laid_out(body) == expected


class Typing(io.StringIO):
    """A body that takes a person long to write."""

    meanwhile: Callable[[], None]

    def read(self, size: int | None = -1) -> str:
        """Let something happen, and return the body."""
        self.meanwhile()
        return super().read(size)


def typed(body: str, meanwhile: Callable[[], None] = lambda: None) -> Any:
    """Return a file with a new body, and let something happen before it is read."""
    typing = Typing(body)
    typing.meanwhile = meanwhile
    return typing


class TestNewBody:
    """Nothing is sent that the worker would refuse, or that changes nothing."""

    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            ("{}", "nothing was sent: .*title"),
            (laid_out(ACCEPTED), "unchanged"),
            (f" {ACCEPTED}\n", "unchanged"),
            (b"\xff", "not UTF-8"),
            (NOT_ALLOWED, "nothing was sent: .* AllowedProjects"),
        ],
    )
    def test_text_is_refused_when_it_is_of_no_use(
        self, body: str | bytes, reason: str
    ) -> None:
        harness = Harness.of(dead_letter(body=ACCEPTED), allowed_projects="PROJ")
        raw = body if isinstance(body, bytes) else body.encode()
        file: Any = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8")

        with pytest.raises(InputError, match=reason):
            edit(harness.context, harness.ids[0], body=file)

        assert harness.bodies == []
        assert harness.left == [ACCEPTED]


class TestEdited:
    """The new body takes the dead letter's place, or nothing happens."""

    def test_new_body_is_sent_when_only_its_cap_is_raised(self) -> None:
        """The cap is no part of the ticket."""
        capped, raised = (
            json.dumps(ticket_fields("PROJ", "k-1", max_number=cap)) for cap in (5, 50)
        )
        harness = Harness.of(dead_letter(body=capped))

        edit(harness.context, harness.ids[0], body=typed(raised))

        assert harness.bodies == [raised]

    def test_trace_stays_when_the_body_is_replaced(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        reason = {"ErrorType": "InvalidMessageError"}
        harness = Harness.of(dead_letter(body="{", traceparent="00-1", **reason))

        body = json.dumps(ticket_fields("PROJ", "[k-1]"))
        edit(harness.context, harness.ids[0], body=typed(body))

        [sent] = harness.source.arrived
        assert sent.attributes == {"traceparent": text_attribute("00-1")}
        assert capsys.readouterr().out == "sent with the idempotency key [k-1]\n"

    def test_others_can_see_the_dead_letter_while_the_new_body_is_read(self) -> None:
        harness = Harness.of(dead_letter(body="{"))
        hidden: list[list[str]] = []
        body = typed(ACCEPTED, lambda: hidden.append(harness.hidden))

        edit(harness.context, harness.ids[0], body=body)

        assert hidden == [[]]
        assert harness.bodies == [ACCEPTED]

    def test_nothing_is_sent_when_another_settled_it_meanwhile(self) -> None:
        harness = Harness.of(dead_letter(body="{"))
        body = typed(ACCEPTED, harness.dead.messages.clear)

        with pytest.raises(CloudError, match="has deleted them"):
            edit(harness.context, harness.ids[0], body=body)

        assert harness.bodies == []

    def test_nothing_is_sent_when_the_request_has_a_number(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        harness = Harness.of(dead_letter(body=ACCEPTED))
        harness.number("PROJ#k-1", 7)

        with pytest.raises(InputError, match="redrive"):
            edit(harness.context, harness.ids[0], body=typed(OTHER))

        assert harness.bodies == []
        assert harness.left == [ACCEPTED]
        assert f"{harness.ids[0]}: has PROJ-7" in capsys.readouterr().err
