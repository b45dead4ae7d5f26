"""An edited dead letter is one that the worker accepts."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders import ticket_fields
from tests.support.cases import plain_id
from tests.support.dead_letter_queue import Harness, Sqs, dead_letter, keys, text
from ticketctl.cli.errors import CloudError, InputError
from ticketctl.commands.dead_letters import edit
from ticketctl.dead_letters.views import laid_out

ACCEPTED = json.dumps(ticket_fields("PROJ", "k-1"))
OTHER = json.dumps(ticket_fields("PROJ", "k-1", title="Another"))


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
        ],
    )
    def test_text_is_refused_when_it_is_of_no_use(
        self, body: str | bytes, reason: str
    ) -> None:
        sqs = Sqs([found := dead_letter(body=ACCEPTED)])
        raw = body if isinstance(body, bytes) else body.encode()
        file: Any = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8")

        with pytest.raises(InputError, match=reason):
            edit(Harness(sqs).context, sqs.ids[0], body=file)

        assert sqs.sent == []
        assert sqs.dead_letters == [found]

    def test_text_is_refused_when_the_stack_does_not_allow_its_project(self) -> None:
        harness = Harness(Sqs([dead_letter(body="{")]))
        outputs = {**harness.outputs, "AllowedProjects": "WEB"}

        with pytest.raises(InputError, match=r"nothing was sent: .* AllowedProjects"):
            edit(
                replace(harness, outputs=outputs).context,
                harness.sqs.ids[0],
                body=typed(ACCEPTED),
            )

        assert harness.sqs.sent == []


class TestEdited:
    """The new body takes the dead letter's place, or nothing happens."""

    def test_new_body_is_sent_when_only_its_cap_is_raised(self) -> None:
        """The cap is no part of the ticket, and the reason of the refusal."""
        capped, raised = (
            json.dumps(ticket_fields("PROJ", "k-1", max_number=cap)) for cap in (5, 50)
        )
        sqs = Sqs([dead_letter(body=capped, ErrorType="SequenceFullError")])

        edit(Harness(sqs).context, sqs.ids[0], body=typed(raised))

        assert sqs.bodies == [raised]

    def test_trace_stays_when_the_body_is_replaced(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        reason = {"ErrorType": "InvalidMessageError"}
        sqs = Sqs([dead_letter(body="{", traceparent="00-1", **reason)])

        body = json.dumps(ticket_fields("PROJ", "[k-1]"))
        edit(Harness(sqs).context, sqs.ids[0], body=typed(body))

        [sent] = sqs.sent
        assert sent["MessageAttributes"] == {"traceparent": text("00-1")}
        assert capsys.readouterr().out == "sent with the idempotency key [k-1]\n"

    def test_others_can_see_the_dead_letter_while_the_new_body_is_read(self) -> None:
        sqs = Sqs([dead_letter(body="{")])
        hidden: list[set[str]] = []
        body = typed(ACCEPTED, lambda: hidden.append(set(sqs.hidden)))

        edit(Harness(sqs).context, sqs.ids[0], body=body)

        assert hidden == [set()]
        assert len(sqs.sent) == 1

    def test_nothing_is_sent_when_another_settled_it_meanwhile(self) -> None:
        sqs = Sqs([dead_letter(body="{")])
        body = typed(ACCEPTED, sqs.dead_letters.clear)

        with pytest.raises(CloudError, match="has deleted them"):
            edit(Harness(sqs).context, sqs.ids[0], body=body)

        assert sqs.sent == []

    def test_nothing_is_sent_when_the_request_has_a_number(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        sqs = Sqs([found := dead_letter(body=ACCEPTED)])
        harness = Harness(sqs, keys({"PROJ#k-1": 7}))

        with pytest.raises(InputError, match="redrive"):
            edit(harness.context, sqs.ids[0], body=typed(OTHER))

        assert sqs.sent == []
        assert sqs.dead_letters == [found]
        assert f"{found.message_id}: has PROJ-7" in capsys.readouterr().err
