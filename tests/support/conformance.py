"""Three backends with one face: the model, moto, and the emulator.

A case expects what AWS was observed to do (`observed` lists these), or else what it
documents. What a backend does instead is listed in `test_conformance_differences`, and
then the case expects precisely that.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from simulation.aws.clients import Client, DynamoDBClient, SNSClient, SQSClient
from simulation.aws.dynamodb import DynamoDB
from simulation.aws.items import Address, Item
from simulation.aws.network import Latency, Network
from simulation.aws.queues import Queue, record_of
from simulation.aws.tables import Tables
from simulation.aws.topics import Topic
from simulation.engine.choices import Choices, RandomChoices
from simulation.engine.scheduler import FOREVER, Process, Scheduler
from simulation.faults import FaultPlan, RandomFaults
from simulation.history import History
from tests.integration.conftest import serials
from tests.integration.test_conformance_differences import DIFFERENCES
from tests.support.tables import create_table
from ticketctl.local.clients import Clients

DONE: Final = "done"
MAX_RECEIVES: Final = 2
SCHEMA: Final = {"tickets": {"project_id": "S", "number": "N"}, "keys": {"id": "S"}}

Answer = TypeVar("Answer")


class Simulation:
    """The model's services, for callers that do not live on its scheduler."""

    def __init__(
        self,
        choices: Choices | None = None,
        faults: FaultPlan | None = None,
        latency: Latency | None = None,
        pace: float = 0.01,
        partial_reasons: float = 0.0,
    ) -> None:
        """Start with empty tables; a transaction takes a step each `pace` seconds."""
        choices = choices or RandomChoices(7)
        self.scheduler = Scheduler(choices)
        network = Network(
            self.scheduler,
            choices,
            faults or RandomFaults(choices, 0.0),
            latency or Latency(),
            History(lambda: self.scheduler.now, lambda: "caller"),
            attempts=1,
            read_timeout=FOREVER,
        )
        self.tables = Tables(
            SCHEMA,
            choices,
            self,
            clock=lambda: self.scheduler.now,
            step=lambda _: self.scheduler.sleep(pace),
            observe=self.scheduler.observe,
            partial_reasons=partial_reasons,
        )
        self.topic = Topic(choices)
        dead = Queue("dead", choices, lambda: self.scheduler.now)
        source = Queue("source", choices, lambda: self.scheduler.now)
        source.dead_letters, source.max_receives = dead, MAX_RECEIVES
        self.queues = {"source": source, "dead": dead}
        self.dynamodb: Any = Outside(
            self, DynamoDBClient(DynamoDB(self.tables), network)
        )
        self.sns: Any = Outside(self, SNSClient(self.topic, network))
        self.sqs: Any = OutsideQueues(self, network)

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """See a change of the tables."""

    def ask(self, call: Callable[[], Answer]) -> Answer:
        """Make the call, and let everything that it causes happen."""
        answers: list[Answer] = []
        self.spawn(lambda: answers.append(call()))
        self.scheduler.run()
        return answers[0]

    def spawn(self, action: Callable[[], object], at: float = 0.0) -> None:
        """Plan an action, so many seconds from now."""
        process = Process(f"caller{next(serials)}")
        self.scheduler.spawn(process, process.name, lambda: (action(), None)[1], at)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.ask(lambda: self.scheduler.sleep(seconds))


class Outside:
    """A client of the model that any code can call."""

    def __init__(self, simulation: Simulation, client: Client) -> None:
        """Pass each call to the client, in a task."""
        self.exceptions = client.exceptions
        self.client = client
        """For those who are on the scheduler."""
        self._simulation = simulation

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        call = getattr(self.client, operation)
        return lambda **request: self._simulation.ask(lambda: call(**request))


class OutsideQueues:
    """A client of both queues, which also receives as Lambda does."""

    def __init__(self, simulation: Simulation, network: Network) -> None:
        """Serve the simulation's queues."""
        self._queues = simulation.queues
        self._clients = {
            url: Outside(simulation, SQSClient(queue, network))
            for url, queue in simulation.queues.items()
        }

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        return lambda QueueUrl, **request: getattr(  # noqa: N803 - as boto3 has it.
            self._clients[QueueUrl], operation
        )(**request)

    def receive_message(self, **request: Any) -> Any:
        """Receive as through the API."""
        queue = self._queues[request["QueueUrl"]]
        queue.visibility_seconds = request["VisibilityTimeout"]
        found = queue.receive(request["MaxNumberOfMessages"])
        records = [(record_of(each), each.attributes) for each in found]
        return {
            "Messages": [
                {
                    "MessageId": record["messageId"],
                    "ReceiptHandle": record["receiptHandle"],
                    "Body": record["body"],
                    "Attributes": record["attributes"],
                    "MessageAttributes": attributes,
                }
                for record, attributes in records
            ]
        }


@dataclass
class Backend:
    """Clients, and the names of resources that no other case uses."""

    name: str
    case: str
    dynamodb: Any
    sns: Any
    sqs: Any
    wait: Callable[[float], None] = time.sleep
    tickets: str = "tickets"
    keys: str = "keys"
    topic: str = "topic"
    source: str = "source"
    dead: str = "dead"
    compared: bool = False

    def expected(self, documented: Any) -> Any:
        """Return what is documented, or what the backend does instead."""
        self.compared = True
        difference = DIFFERENCES.get(self.case)
        if difference is None:
            return documented
        assert difference.documented == documented
        return difference.expected_of(self.name)


def backend_of(model: Simulation, case: str = "") -> Backend:
    """Return a model as a backend."""
    clients = model.dynamodb, model.sns, model.sqs
    return Backend("model", case, *clients, model.wait)


class OnEveryBackend:
    """What test classes inherit to run on the model, on moto and on the emulator."""

    @pytest.fixture(
        params=["model", "moto", pytest.param("emulator", marks=pytest.mark.emulator)]
    )
    def backend(self, request: pytest.FixtureRequest) -> Iterator[Backend]:
        """Give a backend, empty; see to it that a listed difference is looked at."""
        name = request.param
        case = _case(request.node.name, name)
        with _opened(name, case, request) as backend:
            yield backend
        assert backend.compared or case not in DIFFERENCES


@contextmanager
def _opened(name: str, case: str, request: pytest.FixtureRequest) -> Iterator[Backend]:
    if name == "model":
        yield backend_of(Simulation(), case)
    elif name == "moto":
        with mock_aws():
            yield _with_resources(Backend(name, case, *_moto_clients()))
    else:
        emulator = request.getfixturevalue("emulator_dynamodb")
        clients = _emulator_clients(emulator.meta.endpoint_url)
        yield _with_resources(Backend(name, case, emulator, *clients))


def _with_resources(backend: Backend) -> Backend:
    serial = next(serials)
    backend.tickets, backend.keys = f"tickets-{serial}", f"keys-{serial}"
    create_table(backend.dynamodb, backend.tickets, **SCHEMA["tickets"])
    create_table(backend.dynamodb, backend.keys, **SCHEMA["keys"])
    backend.topic = backend.sns.create_topic(Name=f"topic-{serial}")["TopicArn"]
    create_queue = backend.sqs.create_queue
    backend.dead = create_queue(QueueName=f"dead-{serial}")["QueueUrl"]
    arn = backend.sqs.get_queue_attributes(
        QueueUrl=backend.dead, AttributeNames=["QueueArn"]
    )["Attributes"]["QueueArn"]
    redrive = f'{{"deadLetterTargetArn": "{arn}", "maxReceiveCount": {MAX_RECEIVES}}}'
    backend.source = create_queue(
        QueueName=f"source-{serial}", Attributes={"RedrivePolicy": redrive}
    )["QueueUrl"]
    return backend


@cache
def _moto_clients() -> tuple[Any, Any, Any]:
    return boto3.client("dynamodb"), boto3.client("sns"), boto3.client("sqs")


@cache
def _emulator_clients(endpoint_url: str) -> tuple[Any, Any]:
    """Return the clients beside the session's own; they end with the process."""
    clients = Clients(endpoint_url)
    return clients.client("sns"), clients.client("sqs")


def _case(name: str, backend: str) -> str:
    """Return a test's name without its backend."""
    test, _, parameters = name.rstrip("]").partition("[")
    others = [each for each in parameters.split("-") if each and each != backend]
    return f"{test}[{'-'.join(others)}]" if others else test


def fate(call: Callable[[], object]) -> str:
    """Tell how a call ended: `done`, or the error's code and all of its reasons."""
    try:
        call()
    except ClientError as error:
        response: Any = error.response
        reasons = [each["Code"] for each in response.get("CancellationReasons", ())]
        return " ".join([response["Error"]["Code"], *reasons])
    except UnicodeError as error:  # Of a backend that lives in this process.
        return type(error).__name__
    return DONE
