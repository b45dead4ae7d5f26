"""An edited dead letter is one that the worker accepts."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.support.builders import ticket_fields
from tests.support.cases import plain_id
from tests.support.ctl_process import Terminal
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
        _, said = capsys.readouterr().out.splitlines()
        assert said == "sent with the idempotency key [k-1]"

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

    @pytest.mark.parametrize(
        ("key", "remedy"),
        [("k-1", ".* delete dead-1"), ("k-2", "the dead letter is .* k-2 of PROJ")],
    )
    def test_nothing_is_sent_when_the_new_body_has_the_key_of_a_number(
        self, key: str, remedy: str
    ) -> None:
        """The request has its number, so the dead letter alone would go."""
        refused = json.dumps(ticket_fields("PROJ", key, title=""))
        harness = Harness.of(dead_letter(body=refused, ErrorType="InvalidMessageError"))
        harness.number("PROJ#k-1", 7)

        found = f"k-1 of PROJ has the number PROJ-7; {remedy}$"
        with pytest.raises(InputError, match=found):
            edit(harness.context, harness.ids[0], body=typed(ACCEPTED), yes=True)

        assert harness.bodies == []
        assert harness.left == [refused]


NOT_A_NUMBER = '{"project_id": "OPS", "idempotency_key": "b-1", "attributes": NaN}'


class TestAnotherRequest:
    """A person agrees before a dead letter gives way to another request."""

    @pytest.mark.parametrize(
        ("body", "named"),
        [
            (json.dumps(ticket_fields("PROJ", "b-1")), "b-1 of PROJ"),
            (json.dumps(ticket_fields("OPS", "k-1")), "k-1 of OPS"),
            ('{"project_id": "OPS"}', "- of OPS"),
            ('{"idempotency_key": "b\\u001b-1"}', "b\ufffd-1 of -"),
            (NOT_A_NUMBER, "b-1 of OPS"),
            ('{"project_id": "PROJ", "idempotency_key": 5}', "5 of PROJ"),
        ],
    )
    def test_question_names_both_requests_when_they_differ(
        self,
        body: str,
        named: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        harness = Harness.of(dead_letter(body=body))
        monkeypatch.setattr("sys.stdin", Terminal("no\n"))

        with pytest.raises(typer.Exit):
            edit(harness.context, harness.ids[0], body=typed(ACCEPTED))

        question = capsys.readouterr().err
        assert f"Replace the request {named} by k-1 of PROJ" in question
        assert harness.bodies == []
        assert harness.left == [body]

    def test_nothing_is_sent_when_there_is_nobody_to_ask(self) -> None:
        harness = Harness.of(dead_letter())

        with pytest.raises(InputError, match="--yes"):
            edit(harness.context, harness.ids[0], body=typed(ACCEPTED))

        assert harness.bodies == []
        assert len(harness.left) == 1
        edit(harness.context, harness.ids[0], body=typed(ACCEPTED), yes=True)
        assert harness.bodies == [ACCEPTED]


class TestKept:
    """What an edit deletes was printed or saved before."""

    @pytest.mark.parametrize("name", [None, "old.jsonl"])
    def test_dead_letter_is_kept_before_the_new_body_is_sent(
        self, name: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        harness = Harness.of(dead_letter(body="{\x9b"))
        path = tmp_path / name if name else None
        kept: list[Any] = []

        def look() -> None:
            printed = capsys.readouterr().out
            kept.append(json.loads(path.read_text() if path else printed))

        harness.before("send_message", look)

        edit(harness.context, harness.ids[0], body=typed(ACCEPTED), save=path)

        assert [(one["message_id"], one["body"]) for one in kept] == [
            ("dead-1", "{\x9b")
        ]
        assert harness.bodies == [ACCEPTED]
        assert harness.left == []

    def test_nothing_is_sent_when_the_file_is_there(self, tmp_path: Path) -> None:
        path = tmp_path / "old.jsonl"
        path.write_text("another")
        harness = Harness.of(dead_letter(body="{"))

        with pytest.raises(InputError, match="nothing was deleted"):
            edit(harness.context, harness.ids[0], body=typed(ACCEPTED), save=path)

        assert path.read_text() == "another"
        assert (harness.bodies, harness.left) == ([], ["{"])
