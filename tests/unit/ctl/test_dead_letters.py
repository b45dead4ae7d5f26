"""How dead letters are received and read; their transcripts show the rest."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from botocore.stub import Stubber

from operators.model_services import InTurn, ModelServices
from simulation.aws.faults import Fault
from tests.support.canned_aws import aws_client, client_error, failing
from tests.support.stage import Stage, dead_letter, dead_letters
from ticketctl.aws.queues import MAX_ENTRIES, RECEIVED_TOO_OFTEN, Received, Receiver
from ticketctl.cli.errors import Status
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.dead_letter_queue import DeadLetterQueue, dead_letter_queue
from ticketctl.dead_letters.views import age


class TestVisibility:
    """No dead letter is hidden from others for longer than a minute."""

    def test_every_dead_letter_is_seen_once_and_visible_afterwards(
        self, stage: Stage
    ) -> None:
        ids = stage.bury(*dead_letters(25))

        with dead_letter_queue(stage) as queue:
            seen = [letter.message_id for letter in queue.receive()]

        assert sorted(seen) == sorted(ids)
        assert stage.hidden == []
        asked = stage.services.sqs.requests["receive_message"]
        assert all(request["VisibilityTimeout"] <= 60 for request in asked)

    @pytest.mark.parametrize(
        ("there", "approximate", "pace", "receives"),
        [(4, 4, 1, 2), (3, 4, 1, 4), (0, 1, 1, 3), (100, 100, 20, 2)],
        ids=["all", "fewer", "none", "the first would come again"],
    )
    def test_receiving_ends_when_all_were_seen_or_no_more_come_in_time(
        self, stage: Stage, there: int, approximate: int, pace: int, receives: int
    ) -> None:
        """An empty answer says nothing while more are due."""
        stage.bury(*dead_letters(there))
        clock = iter(range(0, 1000, pace))
        receiver = Receiver(stage.services.sqs, "dead", 60)
        queue = DeadLetterQueue(receiver, approximate, clock=lambda: next(clock))

        assert len([*queue.receive()]) == min(there, receives * MAX_ENTRIES)

        assert len(stage.services.sqs.requests["receive_message"]) == receives

    def test_receiving_goes_on_for_three_empty_answers_after_each_news(self) -> None:
        """A redelivered message is no news."""
        services = ModelServices()
        receiver = Receiver(services.sqs, "dead", 60)
        arrive = partial(services.queues["dead"].send, "{}")
        services.sqs.before["receive_message"] = [int, int, arrive, int, int, arrive]

        assert len([*DeadLetterQueue(receiver, visible=9).receive()]) == 2

        receiver.receipts["dead-1"] = "an old handle, with which SQS may not delete"
        services.wait(60)
        assert receiver.receive() == []
        assert services.queues["dead"].messages["dead-1"].receives == 2
        assert receiver.receipts["dead-1"] == "dead-1"

    def test_first_failure_is_shown_when_credentials_expire(self, stage: Stage) -> None:
        """Nor can the command return the received messages."""
        stage.bury(*dead_letters(25))
        stage.before("receive_message", int, failing(client_error("First")))
        expired = failing(client_error("ExpiredToken"))
        stage.before("change_message_visibility_batch", expired)

        ended = stage.call("dead-letters", "list")

        assert "hidden for up to 60 s: 10 messages" in ended.err
        assert ("(First)" in ended.err, ended.status) == (True, Status.CLOUD)

    def test_command_says_so_when_an_answer_of_200_names_failures(
        self, stage: Stage
    ) -> None:
        """In each batch; an entry that failed may be visible all the same."""
        faults = InTurn({"change_message_visibility_batch": [Fault.PARTIAL] * 2})
        stage.services = ModelServices(faults=faults)
        stage.bury(*dead_letters(MAX_ENTRIES + 1))

        notes = stage.call("dead-letters", "list").err

        [said] = re.findall(r"hidden for up to 60 s: (\d+) messages\n", notes)
        assert int(said) >= len(stage.hidden) > 1


def test_message_is_not_deleted_when_the_answer_does_not_name_it() -> None:
    client = aws_client("sqs")
    receiver = Receiver(client, "url", receipts={"m": "handle"})

    with Stubber(client) as stub:
        stub.add_response("delete_message_batch", {"Successful": [], "Failed": []})
        failed = receiver.delete_batch(["m"])

    assert failed == {"m": {}}
    assert receiver.receipts == {"m": "handle"}


@pytest.mark.parametrize(
    "body", ["{", "[]", "null", '{"project_id": 7}', "[" * 50_000], ids=len
)
def test_message_is_read_when_sqs_leaves_out_what_is_empty(body: str) -> None:
    message = {"MessageId": "m", "Body": body}
    letter = DeadLetter.of(message)

    assert (letter.reason, letter.system) == (RECEIVED_TOO_OFTEN, {})
    assert (letter.project_id, letter.idempotency_key) == (None, None)
    assert Received.of(message) == Received("m", body)
    binary = {"MessageAttributes": {"a": {"BinaryValue": b"x"}}}
    assert Received.of(message | binary) == Received("m", body, {"a": ""})


@pytest.mark.parametrize(
    ("named", "system"),
    [
        ("InvalidMessageError", {"DeadLetterQueueSourceArn": "arn:aws:sqs:::queue"}),
        ("Billing", {}),
        (None, {}),
    ],
)
def test_reason_is_that_sqs_moved_it_whatever_its_attributes_say(
    named: str | None, system: dict[str, str]
) -> None:
    """They may be of an earlier refusal or of the producer, who gets them back."""
    texts = {"ErrorType": named, "ErrorMessage": "Task timed out"}
    given = {name: {"StringValue": text} for name, text in texts.items() if text}
    letter = replace(dead_letter(), attributes=given, system=system)

    assert (letter.error_type, letter.explanation) == (None, RECEIVED_TOO_OFTEN)
    assert letter.own_attributes == given


def test_age_is_never_negative_when_a_clock_is_ahead() -> None:
    sent = datetime.now(UTC) + timedelta(hours=1)
    stamp = {"SentTimestamp": str(int(sent.timestamp() * 1000))}

    assert age(replace(dead_letter(), system=stamp)) == "0:00:00"
    assert age(dead_letter()) == "-"
