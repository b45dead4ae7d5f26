"""A dead letter is deleted when its successor was accepted, or a person says so."""

import json
import stat
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.builders import ticket_fields
from tests.support.canned_aws import client_error, failing
from tests.support.command_harness import Harness, dead_letter, dead_letters
from ticket_numbering.contract.envelope import text_attribute
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.cli.errors import CloudError, InputError
from ticketctl.commands.dead_letters import delete, redrive
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.redrive import successor

DENIED = client_error("AccessDenied")
BINARY = {"DataType": "Binary", "BinaryValue": b"\x00\xff"}


class TestNothingLost:
    """A dead letter is sent first, and deleted then."""

    def test_chosen_ones_are_sent_and_then_deleted_one_by_one(
        self, harness: Harness
    ) -> None:
        harness.bury(*dead_letters(4), dead_letter("OTHER"))
        *chosen, other = harness.left

        harness.call(redrive, project="PROJ")

        steps = ["> send_message", "> delete_message"]
        taken = [what for _, _, what, _ in harness.services.history.events]
        assert [what for what in taken if what in steps] == steps * 4
        assert {*harness.sent} == {*chosen}
        assert (harness.left, harness.hidden) == ([other], [])

    def test_nothing_is_sent_when_the_dead_letter_is_gone_meanwhile(
        self, harness: Harness
    ) -> None:
        gone, _ = harness.bury(*dead_letters(2))
        harness.before("receive_message", int, partial(harness.dead.delete, gone))
        [there] = harness.left[1:]

        with pytest.raises(CloudError, match="1 of 2 dead letters did not come again"):
            harness.call(redrive, project="PROJ")

        assert harness.sent == [there]

    def test_dead_letters_are_sent_in_rounds_when_sqs_is_silent_for_a_while(
        self, harness: Harness
    ) -> None:
        """Three polls of a second give nothing, and end a round."""
        ids = harness.bury(*dead_letters(5))
        bodies, hold = harness.left, partial(harness.hold, *ids[3:], seconds=3.8)
        harness.before("receive_message", int, int, hold)

        harness.call(redrive, project="PROJ")

        assert {*harness.sent} == {*bodies}
        assert harness.left == []
        assert len(harness.services.sqs.requests["get_queue_attributes"]) == 3


class TestSuccessor:
    """The producer's own message is sent."""

    def test_message_is_the_producers_when_the_reason_is_taken_off(self) -> None:
        found = dead_letter(ErrorType="InvalidMessageError", ErrorMessage="x", t="abc")
        found = replace(found, system={"MessageGroupId": "another"})

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
        self, harness: Harness
    ) -> None:
        harness.outputs["CreateTicketQueueUrl"] = "source.fifo"
        harness.bury(dead_letter("A"), dead_letter("B"), dead_letter(body="{"))
        bodies = harness.left

        harness.call(redrive, reason="received-too-often")

        arrived = harness.services.queues["source.fifo"].arrived
        groups = dict(zip(bodies, ["A", "B", "-"], strict=True))
        assert {one.body: one.group for one in arrived} == groups
        assert len({one.token for one in arrived}) == 3

    def test_id_is_new_when_the_dead_letter_is_sent_again(self) -> None:
        """SQS would drop the second message, and the dead letter would be deleted."""
        found = dead_letter()

        first, second = (successor(found, fifo=True) for _ in range(2))

        assert first["MessageDeduplicationId"] != second["MessageDeduplicationId"]


class TestAll:
    """SQS moves all dead letters itself, where it can."""

    @pytest.mark.parametrize("rate", [None, 7])
    def test_task_names_its_destination(
        self, harness: Harness, rate: int | None
    ) -> None:
        harness.bury(*dead_letters(5))
        bodies, before = harness.left, list[Any]()
        requests = harness.services.sqs.requests
        harness.before(
            "start_message_move_task",
            lambda: before.append((len(requests["receive_message"]), harness.hidden)),
        )

        harness.call(redrive, everything=True, rate=rate)

        [task] = requests["start_message_move_task"]
        assert task.get("MaxNumberOfMessagesPerSecond") == rate
        assert (harness.sent, harness.left) == (bodies, [])
        assert requests["send_message"] == []
        # SQS moves no message that a consumer holds, and sends them alone.
        assert before == [(len(requests["receive_message"]), [])]

    def test_first_ones_alone_are_looked_at_when_sqs_moves_them(
        self, harness: Harness
    ) -> None:
        harness.bury(*dead_letters(300))

        remarks = harness.call(redrive, everything=True).err

        assert len(harness.services.sqs.requests["receive_message"]) < 20
        assert not remarks

    def test_all_are_sent_one_by_one_when_an_emulator_has_no_tasks(
        self, harness: Harness
    ) -> None:
        harness.bury(*dead_letters(120))
        unknown = failing(client_error("InvalidAction"))
        harness.before("start_message_move_task", unknown)

        remarks = harness.call(redrive, everything=True).err

        sent = harness.services.sqs.requests["send_message"]
        assert len(sent) == len(harness.sent) == 120
        assert harness.left == []
        assert "one by one" in remarks

    @pytest.mark.parametrize("code", ["AccessDenied", "UnsupportedOperation"])
    def test_nothing_is_sent_when_sqs_refuses_the_task(
        self, harness: Harness, code: str
    ) -> None:
        harness.bury(*dead_letters(2))
        harness.before("start_message_move_task", failing(client_error(code)))

        with pytest.raises(ClientError, match=code):
            harness.call(redrive, everything=True)

        assert (harness.sent, len(harness.left)) == ([], 2)


def asking(key: str, **attributes: str) -> DeadLetter:
    return dead_letter(body=json.dumps(ticket_fields("PROJ", key)), **attributes)


class TestDeleted:
    """Dead letters are deleted when they are saved, and have no number."""

    def test_backup_is_complete_when_the_dead_letters_are_deleted(
        self, harness: Harness
    ) -> None:
        reason = {"ErrorType": "InvalidMessageError"}
        found = dead_letter(body="a\r\nb\u20ac", **reason)
        found = replace(found, attributes={**found.attributes, "raw": BINARY})
        message_id, _ = harness.bury(found, dead_letter("OTHER"))
        file = harness.folder / "saved.jsonl"

        harness.call(delete, reason=reason["ErrorType"], save=file)

        [line] = file.read_text().splitlines()
        saved = json.loads(line)
        assert (saved["message_id"], saved["body"]) == (message_id, found.body)
        assert saved["attributes"]["ErrorType"] == text_attribute(reason["ErrorType"])
        assert saved["attributes"]["raw"]["BinaryValue"] == "AP8="
        # Bodies are whole requests.
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert len(harness.left) == 1

    def test_nothing_is_deleted_when_one_was_numbered_after_it_had_been_refused(
        self, harness: Harness
    ) -> None:
        """A redrive by SQS keeps the reason of an earlier refusal."""
        found = asking("k-1", ErrorType="InvalidMessageError")
        harness.bury(asking("k-2"), found)
        fingerprint = CreateTicket.parse(found.body).fingerprint
        harness.number("PROJ#k-1", 7, fingerprint=fingerprint)

        with pytest.raises(InputError, match="nothing was done"):
            harness.call(delete, everything=True)

        assert len(harness.left) == 2

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
        self, harness: Harness, found: DeadLetter
    ) -> None:
        harness.bury(found)
        harness.number("PROJ#k-7", 7)
        harness.number("A#B#k-7", 8)

        harness.call(delete, everything=True)

        assert harness.left == []
