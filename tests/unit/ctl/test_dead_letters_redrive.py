"""A dead letter is deleted when its successor was accepted, or a person says so."""

import json
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from tests.support.builders import ticket_fields
from tests.support.canned_aws import client_error, failing
from tests.support.ctl_process import Ended
from tests.support.seed_items import key_item
from tests.support.stage import Stage, dead_letter, dead_letters
from ticket_numbering.contract.attributes import text_attribute
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.cli.errors import Status
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.redrive import successor

BINARY = {"DataType": "Binary", "BinaryValue": b"\x00\xff"}


def redrive(stage: Stage, *chosen: str) -> Ended:
    return stage.call("dead-letters", "redrive", *chosen)


def delete(stage: Stage, *chosen: str) -> Ended:
    return stage.call("dead-letters", "delete", *chosen)


class TestNothingLost:
    """A dead letter is sent first, and deleted then."""

    def test_chosen_ones_are_sent_and_then_deleted_one_by_one(
        self, stage: Stage
    ) -> None:
        stage.bury(*dead_letters(4), dead_letter("OTHER"))
        *chosen, other = stage.left

        redrive(stage, "--project", "PROJ")

        steps = ["> send_message", "> delete_message_batch"]
        taken = [what for _, _, what, _ in stage.services.history.events]
        assert [what for what in taken if what in steps] == steps * 4
        assert {*stage.sent} == {*chosen}
        assert (stage.left, stage.hidden) == ([other], [])

    def test_nothing_is_sent_when_the_dead_letter_is_gone_meanwhile(
        self, stage: Stage
    ) -> None:
        gone, _ = stage.bury(*dead_letters(2))
        stage.before("receive_message", int, partial(stage.dead.delete, gone))
        [there] = stage.left[1:]

        ended = redrive(stage, "--project", "PROJ")

        assert "1 of 2 dead letters did not come again" in ended.err
        assert stage.sent == [there]

    def test_dead_letters_are_sent_in_rounds_when_sqs_is_silent_for_a_while(
        self, stage: Stage
    ) -> None:
        """Three polls of a second give nothing, and end a round."""
        ids = stage.bury(*dead_letters(5))
        bodies, hold = stage.left, partial(stage.hold, *ids[3:], seconds=3.8)
        stage.before("receive_message", int, int, hold)

        redrive(stage, "--project", "PROJ")

        assert {*stage.sent} == {*bodies}
        assert stage.left == []
        assert len(stage.services.sqs.requests["get_queue_attributes"]) == 3


class TestSuccessor:
    """The producer's own message is sent."""

    def test_message_is_the_producers_when_the_reason_is_taken_off(self) -> None:
        letter = dead_letter(ErrorType="InvalidMessageError", ErrorMessage="x", t="abc")
        letter = replace(letter, system={"MessageGroupId": "another"})

        assert successor(letter, fifo=False) == {
            "MessageBody": letter.body,
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
        letter = replace(dead_letter(body="{"), attributes=attributes, system=system)

        message = successor(letter, fifo=False)

        own = {"MessageBody": "{", "MessageAttributes": attributes}
        assert message == own | system

    def test_groups_are_the_projects_and_no_id_repeats_when_the_queue_is_fifo(
        self, stage: Stage
    ) -> None:
        stage.outputs["CreateTicketQueueUrl"] = "source.fifo"
        stage.bury(dead_letter("A"), dead_letter("B"), dead_letter(body="{"))
        bodies = stage.left

        redrive(stage, "--reason", "received-too-often")

        arrived = stage.services.queues["source.fifo"].arrived
        groups = dict(zip(bodies, ["A", "B", "-"], strict=True))
        assert {message.body: message.group for message in arrived} == groups
        assert len({message.token for message in arrived}) == 3

    def test_id_is_new_when_the_dead_letter_is_sent_again(self) -> None:
        """SQS would drop the second message, and the dead letter would be deleted."""
        letter = dead_letter()

        first, second = (successor(letter, fifo=True) for _ in range(2))

        assert first["MessageDeduplicationId"] != second["MessageDeduplicationId"]


class TestKeysExpire:
    """No redrive leads to a second number."""

    @pytest.mark.parametrize(
        ("days", "goes"), [(31, True), (33, False)], ids=["in time", "too old"]
    )
    def test_dead_letter_goes_when_its_key_outlives_two_lives_on_the_queue(
        self, stage: Stage, days: int, *, goes: bool
    ) -> None:
        stage.controls.parameters["IdempotencyRetentionDays"] = "40"
        past = datetime.now(UTC) - timedelta(days=days)
        stamp = str(int(past.timestamp() * 1000))
        stage.bury(dead_letter(SentTimestamp=stamp))

        ended = redrive(stage, "--project", "PROJ")

        arrived = stage.services.queues["source"].arrived
        assert len(arrived) == goes
        assert ended.status == (Status.OK if goes else Status.PROBLEM)
        carried = {"SentTimestamp": text_attribute(stamp)}
        assert all(carried.items() <= message.attributes.items() for message in arrived)

    def test_time_of_the_first_sending_is_added_when_there_is_room(
        self, stage: Stage
    ) -> None:
        stage.controls.parameters["IdempotencyRetentionDays"] = "40"
        full = {f"a{number}": "x" for number in range(10)}
        stage.bury(dead_letter(), dead_letter("FULL", **full))

        redrive(stage, "--all")

        assert not stage.services.sqs.requests["start_message_move_task"]
        names = [
            {*message.attributes} for message in stage.services.queues["source"].arrived
        ]
        assert names == [{"SentTimestamp"}, {*full}]

    def test_refused_message_goes_at_any_age_for_it_has_no_number(
        self, stage: Stage
    ) -> None:
        stage.controls.parameters["IdempotencyRetentionDays"] = "40"
        stage.bury(dead_letter(ErrorType="InvalidMessageError", SentTimestamp="1"))

        redrive(stage, "--all")

        assert stage.left == []


class TestAll:
    """SQS moves all dead letters itself, where it can."""

    @pytest.mark.parametrize("rate", [None, 7])
    def test_task_names_its_destination(self, stage: Stage, rate: int | None) -> None:
        stage.bury(*dead_letters(5))
        bodies, before = stage.left, list[Any]()
        requests = stage.services.sqs.requests
        stage.before(
            "start_message_move_task",
            lambda: before.append((len(requests["receive_message"]), stage.hidden)),
        )

        redrive(stage, "--all", *(["--rate", str(rate)] if rate else []))

        [task] = requests["start_message_move_task"]
        assert task.get("MaxNumberOfMessagesPerSecond") == rate
        assert (stage.sent, stage.left) == (bodies, [])
        assert requests["send_message"] == []
        # SQS moves no message that a consumer holds, and sends them alone.
        assert before == [(len(requests["receive_message"]), [])]

    def test_first_ones_alone_are_looked_at_when_sqs_moves_them(
        self, stage: Stage
    ) -> None:
        stage.bury(*dead_letters(300))

        notes = redrive(stage, "--all").err

        assert len(stage.services.sqs.requests["receive_message"]) < 20
        assert not notes

    def test_all_are_sent_one_by_one_when_an_emulator_has_no_tasks(
        self, stage: Stage
    ) -> None:
        stage.bury(*dead_letters(120))
        unknown = failing(client_error("InvalidAction"))
        stage.before("start_message_move_task", unknown)

        notes = redrive(stage, "--all").err

        sent = stage.services.sqs.requests["send_message"]
        assert len(sent) == len(stage.sent) == 120
        assert stage.left == []
        assert "one by one" in notes

    @pytest.mark.parametrize("code", ["AccessDenied", "UnsupportedOperation"])
    def test_nothing_is_sent_when_sqs_refuses_the_task(
        self, stage: Stage, code: str
    ) -> None:
        stage.bury(*dead_letters(2))
        stage.before("start_message_move_task", failing(client_error(code)))

        ended = redrive(stage, "--all")

        assert (ended.status, code in ended.err) == (Status.CLOUD, True)
        assert (stage.sent, len(stage.left)) == ([], 2)


def asking(key: str, **attributes: str) -> DeadLetter:
    return dead_letter(body=json.dumps(ticket_fields("PROJ", key)), **attributes)


class TestDeleted:
    """Dead letters are deleted when they are saved, and have no number."""

    def test_backup_is_complete_when_the_dead_letters_are_deleted(
        self, stage: Stage
    ) -> None:
        reason = {"ErrorType": "InvalidMessageError"}
        letter = dead_letter(body="a\r\nb\u20ac", **reason)
        letter = replace(letter, attributes={**letter.attributes, "raw": BINARY})
        message_id, _ = stage.bury(letter, dead_letter("OTHER"))
        file = stage.folder / "saved.jsonl"

        delete(stage, "--reason", "InvalidMessageError", "--save", str(file))

        [line] = file.read_text().splitlines()
        saved = json.loads(line)
        assert (saved["message_id"], saved["body"]) == (message_id, letter.body)
        assert saved["attributes"]["ErrorType"] == text_attribute(reason["ErrorType"])
        assert saved["attributes"]["raw"]["BinaryValue"] == "AP8="
        # Bodies are whole requests.
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert len(stage.left) == 1

    def test_nothing_is_deleted_when_one_was_numbered_after_it_had_been_refused(
        self, stage: Stage
    ) -> None:
        """A redrive by SQS keeps the reason of an earlier refusal."""
        letter = asking("k-1", ErrorType="InvalidMessageError")
        stage.bury(asking("k-2"), letter)
        fingerprint = CreateTicket.parse(letter.body).fingerprint
        stage.write(key_item("PROJ", 7, "k-1", fingerprint=fingerprint))

        ended = delete(stage, "--all")

        assert "nothing was done" in ended.err
        assert len(stage.left) == 2

    @pytest.mark.parametrize(
        "letter",
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
        ids=lambda letter: letter.body,
    )
    def test_dead_letter_is_deleted_when_its_request_has_no_number(
        self, stage: Stage, letter: DeadLetter
    ) -> None:
        stage.bury(letter)
        for number, project_id in ((7, "PROJ"), (8, "A#B")):
            stage.write(key_item(project_id, number, "k-7", fingerprint="v1:another"))

        delete(stage, "--all")

        assert stage.left == []
