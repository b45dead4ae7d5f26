"""An edited dead letter is one that the worker accepts, and no number is lost."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.builders import ticket_fields
from tests.support.cases import plain_id
from tests.support.ctl_process import context_of
from tests.support.stage import Stage, dead_letter
from ticketctl.cli.errors import CloudError
from ticketctl.commands.dead_letters import edit
from ticketctl.dead_letters.views import laid_out

ACCEPTED = json.dumps(ticket_fields("PROJ", "k-1"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"b":"ü","a":[1]}', '{\n  "b": "ü",\n  "a": [\n    1\n  ]\n}'),
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


def typed(body: str, meanwhile: Callable[[], None] = lambda: None) -> Any:
    """Return a file with a new body, and let something happen when it is read."""

    class Typing(io.StringIO):
        def read(self, size: int | None = -1) -> str:
            meanwhile()
            return super().read(size)

    return Typing(body)


def edited(stage: Stage, message_id: str, body: Any, **options: Any) -> None:
    """Call the command with an open file."""
    edit(context_of(stage), message_id, body=body, yes=True, **options)


def test_others_can_see_the_dead_letter_while_the_new_body_is_read(
    stage: Stage,
) -> None:
    [message_id] = stage.bury(dead_letter(body="{"))
    hidden: list[list[str]] = []

    edited(stage, message_id, body=typed(ACCEPTED, lambda: hidden.append(stage.hidden)))

    assert hidden == [[]]
    assert (stage.sent, stage.left) == ([ACCEPTED], [])


def test_nothing_is_sent_when_another_settled_it_meanwhile(stage: Stage) -> None:
    [message_id] = stage.bury(dead_letter(body="{"))

    with pytest.raises(CloudError, match="has deleted them"):
        edited(stage, message_id, body=typed(ACCEPTED, stage.dead.messages.clear))

    assert stage.sent == []


@pytest.mark.parametrize("name", [None, "old.jsonl"])
def test_dead_letter_is_kept_before_the_new_body_is_sent(
    stage: Stage, capsys: pytest.CaptureFixture[str], name: str | None
) -> None:
    [message_id] = stage.bury(dead_letter(body="{\x9b"))
    path = stage.folder / name if name else None
    kept: list[Any] = []

    def look() -> None:
        printed = capsys.readouterr().out
        kept.append(json.loads(path.read_text() if path else printed))

    stage.before("send_message", look)

    edited(stage, message_id, body=typed(ACCEPTED), save=path)

    assert [
        (dead_letter["message_id"], dead_letter["body"]) for dead_letter in kept
    ] == [(message_id, "{\x9b")]
    assert (stage.sent, stage.left) == ([ACCEPTED], [])
