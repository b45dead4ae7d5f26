"""SQS moves all dead letters itself, where it can, and people see how far it is."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from tests.support.canned_aws import aws_client
from tests.support.dead_letter_queue import Site, Sqs, letters
from ticketctl.cli.errors import CloudError
from ticketctl.dead_letters.move_task import MoveTasks, NoMoveTasksError
from ticketctl.dead_letters.tasks import redrive_all

SOURCE = "arn:aws:sqs:eu-west-1:123456789012:dead"
DESTINATION = "arn:aws:sqs:eu-west-1:123456789012:create-ticket"

Task = dict[str, Any]


def task(status: str, started: int = 2000, **members: Any) -> Task:
    """Return a task as SQS lists it."""
    return {
        "Status": status,
        "StartedTimestamp": started,
        "SourceArn": SOURCE,
    } | members


class Service:
    """SQS, which answers as told, in order."""

    def __init__(self) -> None:
        """Put a stub in the network's place."""
        client = aws_client("sqs")
        self.stub = Stubber(client)
        self.naps: list[float] = []
        self.tasks = MoveTasks(client, SOURCE, DESTINATION, self.naps.append)

    def lists(self, *tasks: Task) -> None:
        """Expect a look at the tasks."""
        self.stub.add_response(
            "list_message_move_tasks",
            {"Results": list(tasks)},
            {"SourceArn": SOURCE, "MaxResults": 10},
        )

    def starts(self, **limit: int) -> None:
        """Expect a start, always with the destination."""
        self.stub.add_response(
            "start_message_move_task",
            {"TaskHandle": "handle"},
            {"SourceArn": SOURCE, "DestinationArn": DESTINATION} | limit,
        )


@pytest.fixture
def service() -> Iterator[Service]:
    """Return SQS; every call it was told to expect must come."""
    service = Service()
    with service.stub:
        yield service
        service.stub.assert_no_pending_responses()


class TestMoved:
    """The task is started once and followed to its end."""

    @pytest.mark.parametrize(
        ("rate", "limit"), [(None, {}), (7, {"MaxNumberOfMessagesPerSecond": 7})]
    )
    def test_task_names_its_destination(
        self, service: Service, rate: int | None, limit: dict[str, int]
    ) -> None:
        """What the worker sent to the dead-letter queue has no source."""
        service.lists(task("COMPLETED", 1000), task("FAILED", 500))
        service.starts(**limit)

        assert service.tasks.start(rate) == 1000

    def test_progress_is_told_until_the_task_ends(self, service: Service) -> None:
        """The task of the week before is not mistaken for this one."""
        old = task("FAILED", 1000, FailureReason="CouldNotDetermineMessageSource")
        total = {"ApproximateNumberOfMessagesToMove": 9}
        service.lists(old)
        service.lists(task("RUNNING"), old)
        service.lists(task("RUNNING", ApproximateNumberOfMessagesMoved=4, **total), old)
        service.lists(
            task("COMPLETED", ApproximateNumberOfMessagesMoved=9, **total), old
        )
        told: list[tuple[int, int | None]] = []

        moved = service.tasks.follow(1000, lambda *each: told.append(each))

        assert moved == 9
        assert told == [(0, None), (4, 9), (9, 9)]
        assert len(service.naps) == 3

    @pytest.mark.parametrize("status", ["FAILED", "CANCELLED"])
    def test_end_is_reported_when_the_task_does_not_complete(
        self, service: Service, status: str
    ) -> None:
        """With the reason, and what was moved already."""
        service.lists(
            task(
                status, ApproximateNumberOfMessagesMoved=4, FailureReason="AccessDenied"
            )
        )

        with pytest.raises(
            CloudError, match=rf"{status} \(AccessDenied\).* 4 messages"
        ):
            service.tasks.follow(-1, lambda *_: None)

    def test_waiting_ends_when_the_task_never_shows(self, service: Service) -> None:
        """Rather than for ever."""
        for _ in range(60):
            service.lists(task("COMPLETED", 1000))

        with pytest.raises(CloudError, match="does not show"):
            service.tasks.follow(1000, lambda *_: None)

    def test_second_task_is_refused_when_one_is_running(self, service: Service) -> None:
        """SQS allows one a queue; the message says how to end it."""
        service.lists(task("RUNNING", TaskHandle="handle"))

        with pytest.raises(CloudError, match="--cancel"):
            service.tasks.start(None)


class TestCancelled:
    """A task can be stopped."""

    def test_running_task_is_cancelled(self, service: Service) -> None:
        """And not one that ended."""
        service.lists(task("COMPLETED", 3000), task("RUNNING", TaskHandle="handle"))
        service.stub.add_response(
            "cancel_message_move_task",
            {"ApproximateNumberOfMessagesMoved": 4},
            {"TaskHandle": "handle"},
        )

        assert service.tasks.cancel() == 4

    def test_nothing_is_cancelled_when_no_task_runs(self, service: Service) -> None:
        """Nothing to do."""
        service.lists(task("COMPLETED"))

        assert service.tasks.cancel() is None


class TestOtherServices:
    """What has no move tasks is told from what refuses one."""

    def test_unknown_operation_is_told(self, service: Service) -> None:
        """As the emulator answers."""
        service.stub.add_client_error("list_message_move_tasks", "InvalidAction")

        with pytest.raises(NoMoveTasksError):
            service.tasks.start(None)

    @pytest.mark.parametrize("code", ["AccessDenied", "UnsupportedOperation"])
    def test_refusal_stays_what_it_is(self, service: Service, code: str) -> None:
        """Who may not move all may not be meant to move them one by one."""
        service.stub.add_client_error("list_message_move_tasks", code)

        with pytest.raises(ClientError):
            service.tasks.start(None)


class MovingSqs(Sqs):
    """SQS with a task that ends as told."""

    started = False
    ends: Callable[[], Task]

    def start_message_move_task(self, **_: Any) -> Task:
        """Start."""
        self.calls.append("start")
        self.started = True
        return {"TaskHandle": "handle"}

    def list_message_move_tasks(self, **_: Any) -> dict[str, Any]:
        """List."""
        self.calls.append("list")
        return {"Results": [self.ends()] if self.started else []}


class TestAllSentBack:
    """The command for all letters."""

    def test_letters_are_visible_before_sqs_moves_them(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A task moves only what nobody holds; nothing is sent one by one."""
        sqs = MovingSqs(letters(3))
        sqs.ends = lambda: task("COMPLETED", ApproximateNumberOfMessagesMoved=3)

        redrive_all(Site(sqs), None, yes=True)

        assert "moved back: about 3" in capsys.readouterr().out
        assert set(sqs.hidden.values()) == {0}
        assert sqs.calls.index("change") < sqs.calls.index("start")
        assert "send" not in sqs.calls

    def test_task_goes_on_when_somebody_presses_ctrl_c(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """They are told how to stop it."""
        sqs = MovingSqs(letters(1))

        def interrupted() -> Task:
            raise KeyboardInterrupt

        sqs.ends = interrupted

        with pytest.raises(KeyboardInterrupt):
            redrive_all(Site(sqs), None, yes=True)

        assert "redrive --cancel" in capsys.readouterr().err
