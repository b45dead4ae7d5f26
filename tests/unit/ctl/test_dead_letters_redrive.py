"""A dead letter is deleted when its successor was accepted, or a person says so."""

import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from botocore.exceptions import ClientError

from tests.support.builders import ticket_fields
from tests.support.canned_aws import client_error, failing
from tests.support.ctl_process import Terminal
from tests.support.dead_letter_queue import Harness, dead_letter, dead_letters
from ticket_numbering.contract.envelope import text_attribute
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.cli.errors import CloudError, InputError
from ticketctl.commands.dead_letters import delete, redrive
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.redrive import resend, successor

DENIED = client_error("AccessDenied")
BINARY = {"DataType": "Binary", "BinaryValue": b"\x00\xff"}


def redrive_by_project(harness: Harness) -> None:
    redrive(harness.context, project="PROJ", yes=True)


class TestNothingLost:
    """A dead letter is sent first, and deleted then."""

    def test_chosen_ones_are_sent_and_then_deleted_one_by_one(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        harness = Harness.of(*dead_letters(4), dead_letter("OTHER"))
        *chosen, other = harness.left

        redrive_by_project(harness)

        steps = ["> send_message", "> delete_message"]
        taken = [what for _, _, what, _ in harness.services.history.events]
        assert [what for what in taken if what in steps] == steps * 4
        assert {*harness.bodies} == {*chosen}
        assert harness.left == [other]
        assert harness.hidden == []
        assert capsys.readouterr().out == "dead letters redriven: 4\n"

    @pytest.mark.parametrize("error", [DENIED, KeyboardInterrupt()], ids=type)
    def test_dead_letter_stays_when_its_successor_was_not_accepted(
        self, capsys: pytest.CaptureFixture[str], error: BaseException
    ) -> None:
        harness = Harness.of(*dead_letters(3))
        bodies = {*harness.left}
        harness.before("send_message", lambda: None, failing(error))

        with pytest.raises(type(error)):
            redrive_by_project(harness)

        assert len(harness.bodies) == 1
        assert {*harness.left} == bodies - {*harness.bodies}
        assert harness.hidden == []
        assert "done: 1; still dead letters: 2" in capsys.readouterr().err

    def test_dead_letter_is_there_twice_when_it_was_sent_but_not_deleted(self) -> None:
        harness = Harness.of(found := dead_letter())
        harness.before("delete_message", failing(DENIED))

        with pytest.raises(CloudError, match="could not be deleted"):
            redrive_by_project(harness)

        assert harness.bodies == [found.body]
        assert harness.left == [found.body]
        assert harness.hidden == []

    def test_nothing_is_sent_when_the_dead_letter_is_gone_meanwhile(self) -> None:
        harness = Harness.of(*dead_letters(2))
        gone, there = harness.found
        harness.dead.delete(gone.message_id)

        with pytest.raises(CloudError, match="1 of 2 dead letters did not come again"):
            resend(harness, [gone, there])

        assert harness.bodies == [there.body]

    def test_dead_letters_are_sent_in_rounds_when_sqs_is_silent_for_a_while(
        self,
    ) -> None:
        """Three polls of a second give nothing, and end a round."""
        harness = Harness.of(*dead_letters(5))
        bodies, later = {*harness.left}, harness.ids[3:]
        harness.before("receive_message", lambda: harness.hold(*later, seconds=3.8))

        assert resend(harness, harness.found) == 5

        assert {*harness.bodies} == bodies
        assert harness.left == []
        assert len(harness.requests["get_queue_attributes"]) == 2


class TestSuccessor:
    """The producer's own message is sent."""

    def test_message_is_the_producers_when_the_reason_is_taken_off(self) -> None:
        found = dead_letter(ErrorType="InvalidMessageError", ErrorMessage="x", t="abc")

        assert successor(found, fifo=False) == {
            "MessageBody": found.body,
            "MessageAttributes": {"t": text_attribute("abc")},
            "MessageGroupId": "PROJ",
        }

    @pytest.mark.parametrize(
        "attributes",
        [{"SentTimestamp": text_attribute("monday")}, {"raw": BINARY}],
        ids=list,
    )
    def test_attributes_stay_when_the_worker_gave_no_reason(
        self, attributes: dict[str, Any]
    ) -> None:
        system = {"MessageGroupId": "G"}
        found = replace(dead_letter(body="{"), attributes=attributes, system=system)

        message = successor(found, fifo=False)

        own = {"MessageBody": "{", "MessageAttributes": attributes}
        assert message == own | system

    def test_groups_are_the_projects_and_no_id_repeats_when_the_queue_is_fifo(
        self,
    ) -> None:
        found = [dead_letter("A"), dead_letter("B"), dead_letter(body="{")]
        harness = Harness.of(*found, fifo=True)

        resend(harness, harness.found)

        groups = {one.body: one.group for one in harness.source.arrived}
        assert groups == dict(
            zip((one.body for one in found), ["A", "B", "-"], strict=True)
        )
        sent = harness.requests["send_message"]
        assert len({message["MessageDeduplicationId"] for message in sent}) == 3

    def test_id_is_new_when_the_dead_letter_is_sent_again(self) -> None:
        """SQS would drop the second message, and the dead letter would be deleted."""
        found = dead_letter()

        first, second = (successor(found, fifo=True) for _ in range(2))

        assert first["MessageDeduplicationId"] != second["MessageDeduplicationId"]


COME_BACK = ["InvalidMessageError", "TicketTooLargeError", "IdempotencyMismatchError"]


class TestAll:
    """SQS moves all dead letters itself, where it can."""

    @pytest.mark.parametrize("rate", [None, 7])
    def test_task_names_its_destination(
        self, capsys: pytest.CaptureFixture[str], rate: int | None
    ) -> None:
        poison = [dead_letter(ErrorType=reason) for reason in COME_BACK]
        harness = Harness.of(*dead_letters(5), *poison)
        bodies, held = harness.left, [*harness.ids]
        receives = harness.requests["receive_message"]
        before: list[int] = []

        def look() -> None:
            held[:] = harness.hidden
            before.append(len(receives))

        harness.before("start_message_move_task", look)

        redrive(harness.context, everything=True, rate=rate, yes=True)

        [task] = harness.requests["start_message_move_task"]
        assert task.get("MaxNumberOfMessagesPerSecond") == rate
        assert held == [], "SQS moves no message that a consumer holds"
        assert (harness.bodies, harness.left) == (bodies, [])
        assert harness.requests["send_message"] == []
        assert before == [len(receives)], "SQS alone sends them from then on"
        said = capsys.readouterr()
        assert "aws sqs cancel-message-move-task --task-handle handle" in said.out
        assert "3 dead letters will come back unless" in said.err

    def test_first_ones_alone_are_looked_at_when_sqs_moves_them(self) -> None:
        harness = Harness.of(*dead_letters(300))

        redrive(harness.context, everything=True, yes=True)

        assert len(harness.requests["receive_message"]) < 20

    def test_all_are_sent_one_by_one_when_an_emulator_has_no_tasks(self) -> None:
        harness = Harness.of(*dead_letters(5))
        unknown = failing(client_error("InvalidAction"))
        harness.before("start_message_move_task", unknown)

        redrive(harness.context, everything=True, yes=True)

        assert len(harness.requests["send_message"]) == len(harness.bodies) == 5
        assert harness.left == []

    @pytest.mark.parametrize("code", ["AccessDenied", "UnsupportedOperation"])
    def test_nothing_is_sent_when_sqs_refuses_the_task(self, code: str) -> None:
        harness = Harness.of(*dead_letters(2))
        harness.before("start_message_move_task", failing(client_error(code)))

        with pytest.raises(ClientError, match=code):
            redrive(harness.context, everything=True, yes=True)

        assert harness.bodies == []
        assert len(harness.left) == 2

    def test_nothing_is_done_when_a_rate_is_given_for_chosen_ones(self) -> None:
        harness = Harness.of(*dead_letters(1))

        with pytest.raises(InputError, match="--rate goes with --all"):
            redrive(harness.context, project="PROJ", rate=5, yes=True)

        assert harness.requests == {}


@pytest.mark.parametrize(
    ("command", "options", "named"),
    [
        (redrive, {"project": "PROJ"}, ["2 dead letters", "1 InvalidMessageError"]),
        (redrive, {"everything": True}, ["all"]),
        (delete, {"project": "PROJ"}, ["2 dead letters", "--save"]),
        (delete, {"everything": True, "save": "kept"}, ["3 dead letters", "kept"]),
    ],
)
def test_question_names_what_will_be_done(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: Callable[..., None],
    options: dict[str, Any],
    named: list[str],
) -> None:
    poison = dead_letter(ErrorType="InvalidMessageError")
    harness = Harness.of(poison, dead_letter(), dead_letter("OTHER"))
    monkeypatch.setattr("sys.stdin", Terminal("no\n"))

    with pytest.raises(typer.Exit):
        command(harness.context, **options)

    question = capsys.readouterr().err.splitlines()[-1]
    assert [part for part in named if part not in question] == []
    assert len(harness.left) == 3


class TestDeleted:
    """Only confirmed dead letters are deleted."""

    def test_backup_is_complete_when_the_dead_letters_are_deleted(
        self, tmp_path: Path
    ) -> None:
        reason = "InvalidMessageError"
        found = dead_letter(body="a\r\nb\u20ac", ErrorType=reason)
        found = replace(found, attributes={**found.attributes, "raw": BINARY})
        harness = Harness.of(found, dead_letter("OTHER"))
        message_id, file = harness.ids[0], tmp_path / "saved.jsonl"

        delete(harness.context, reason=reason, save=file, yes=True)

        [line] = file.read_text().splitlines()
        saved = json.loads(line)
        assert (saved["message_id"], saved["body"]) == (message_id, found.body)
        assert saved["attributes"]["ErrorType"] == text_attribute(reason)
        assert saved["attributes"]["raw"]["BinaryValue"] == "AP8="
        # Bodies are whole requests.
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert len(harness.left) == 1

    @pytest.mark.parametrize("name", ["no/such/folder", "there"])
    def test_nothing_is_deleted_when_the_backup_cannot_be_written(
        self, tmp_path: Path, name: str
    ) -> None:
        (tmp_path / "there").write_text("another backup")
        harness = Harness.of(*dead_letters(2))

        with pytest.raises(InputError, match="nothing was deleted"):
            delete(harness.context, everything=True, save=tmp_path / name, yes=True)

        assert len(harness.left) == 2
        assert (tmp_path / "there").read_text() == "another backup"

    def test_nothing_is_deleted_when_it_was_not_confirmed(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        harness = Harness.of(*dead_letters(1))

        with pytest.raises(InputError, match="--yes"):
            delete(harness.context, everything=True)

        [message_id] = harness.ids
        assert message_id in capsys.readouterr().err


def asking(key: str, **attributes: str) -> DeadLetter:
    return dead_letter(body=json.dumps(ticket_fields("PROJ", key)), **attributes)


class TestAnnounced:
    """A number that perhaps was never announced is not lost with its dead letter."""

    def test_nothing_is_deleted_when_one_was_numbered_after_it_had_been_refused(
        self,
    ) -> None:
        """A redrive by SQS keeps the reason of an earlier refusal."""
        found = asking("k-1", ErrorType="InvalidMessageError")
        fingerprint = CreateTicket.parse(found.body).fingerprint
        harness = Harness.of(asking("k-2"), found)
        harness.number("PROJ#k-1", 7, fingerprint)

        with pytest.raises(InputError, match="nothing was done"):
            delete(harness.context, everything=True, yes=True)

        assert len(harness.left) == 2

    def test_number_is_a_question_mark_when_its_record_has_none(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        harness = Harness.of(asking("k-1"))
        harness.services.dynamodb.put({"id": {"S": "PROJ#k-1"}})

        with pytest.raises(InputError, match="nothing was done"):
            delete(harness.context, everything=True, yes=True)

        assert "has PROJ-?," in capsys.readouterr().err

    @pytest.mark.parametrize(
        "found",
        [
            asking("k-1"),
            asking("k-7", ErrorType="IdempotencyMismatchError"),
            dead_letter(body="{"),
            dead_letter(body='{"project_id": "PROJ", "idempotency_key": 7}'),
            dead_letter(body='{"project_id": "A#B", "idempotency_key": "k-7"}'),
            dead_letter(
                body='{"project_id": "PROJ", "idempotency_key": "k-7"}',
                ErrorType="InvalidMessageError",
            ),
        ],
        ids=lambda found: found.body,
    )
    def test_dead_letter_is_deleted_when_its_request_has_no_number(
        self, found: DeadLetter
    ) -> None:
        harness = Harness.of(found)
        harness.number("PROJ#k-7", 7)
        harness.number("A#B#k-7", 8)

        delete(harness.context, everything=True, yes=True)

        assert harness.left == []
