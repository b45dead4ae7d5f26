"""The model's services for callers that do not run on its scheduler."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain, count
from operator import gt, lt
from threading import RLock
from types import SimpleNamespace
from typing import Any, Final, TypeVar
from zlib import crc32

import boto3
from botocore.validate import validate_parameters

from simulation.aws.clients import Client
from simulation.aws.dynamodb import DynamoDB
from simulation.aws.errors import ServiceError
from simulation.aws.fault_plans import FaultPlan
from simulation.aws.faults import Fault
from simulation.aws.fifo_queues import FifoQueue
from simulation.aws.items import Item, key_of
from simulation.aws.latency import Latency
from simulation.aws.network import Network, Request
from simulation.aws.queues import Queue
from simulation.aws.tables import KEYS, SCHEMA, TICKETS, Tables
from simulation.aws.topics import Topic
from simulation.checks.history import History
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.engine.tasks import FOREVER, Process
from ticket_numbering.contract.attributes import FIFO_SUFFIX, is_fifo

MAX_RECEIVES: Final = 2

_BATCHES: Final = {
    "publish_batch": "PublishBatchRequestEntries",
    "send_message_batch": "Entries",
}
"""The parameters that hold entries with a message."""

Answer = TypeVar("Answer")


@cache
def aws_meta(service: str) -> Any:
    """Return the description of a service's client."""
    create: Any = boto3.Session(region_name="eu-west-1").client
    return create(service).meta


class ModelServices:
    """Empty tables, a topic, queues of both kinds, and their clients."""

    def __init__(
        self,
        choices: Choices | None = None,
        faults: FaultPlan | None = None,
        latency: Latency | None = None,
        pace: float = 0.01,
        partial_reasons: float = 0.0,
    ) -> None:
        """Create the services; a transaction takes `pace` seconds a step."""
        choices = choices or Choices(7)
        self.scheduler = Scheduler(choices)
        self.history = History(self.scheduler)
        network = Network(
            self.scheduler,
            choices,
            faults or FaultPlan(),
            latency or Latency(),
            self.history,
            attempts=1,
            read_timeout=FOREVER,
        )
        tables = Tables(
            self.scheduler,
            choices,
            Latency(pace, pace, steps_a_call=1),
            partial_reasons=partial_reasons,
        )
        self.tables = tables
        self.topic = Topic(choices)
        self.queues: dict[str, Queue] = {}
        self.subscriptions: dict[str, str] = {}
        """The endpoints by the subscriptions' ARNs."""
        self.choices = choices
        for suffix in ("", FIFO_SUFFIX):
            source = self.create_queue(f"source{suffix}")
            source.dead_letters = self.create_queue(f"dead{suffix}")
            source.max_receives = MAX_RECEIVES
        self.dynamodb: Any = OutsideTables(
            self, Client("dynamodb", DynamoDB(tables), network), "dynamodb"
        )
        self.sns: Any = OutsideClient(self, Client("sns", Topics(self), network), "sns")
        self.sqs: Any = OutsideClient(self, Client("sqs", Queues(self), network), "sqs")
        self._serials = count(1)
        self._one_at_a_time = RLock()

    def create_queue(self, name: str) -> Queue:
        """Create a queue, of the kind that its name says."""
        kind = FifoQueue if is_fifo(name) else Queue
        queue = self.queues[name] = kind(name, self.choices, self.scheduler)
        return queue

    def ask(self, call: Callable[[], Answer]) -> Answer:
        """Make the call, and let everything that it causes happen."""
        answers: list[Answer] = []
        with self._one_at_a_time:
            self.scheduler.move_here()
            self.spawn(lambda: answers.append(call()))
            self.scheduler.run()
        return answers[0]

    def spawn(self, action: Callable[[], object], at: float = 0.0) -> None:
        """Plan an action, a number of seconds from now."""
        process = Process(f"caller{next(self._serials)}")
        self.scheduler.spawn(process, process.name, action, at)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.ask(lambda: self.scheduler.sleep(seconds))


@dataclass
class InTurn(FaultPlan):
    """The faults of the next calls, one by one."""

    faults: Mapping[str, list[Fault | None]]
    """By operation."""

    def draw(self, call: str) -> Fault | None:
        """Return the fault of this call."""
        coming = self.faults.get(call)
        return coming.pop(0) if coming else None


class OutsideClient:
    """A client of the model that any code can call."""

    def __init__(
        self, services: ModelServices, client: Client, service: str = ""
    ) -> None:
        """Pass each call to the client, in a task; check parameters of a service."""
        self.exceptions = client.exceptions
        self.client = client
        """The services for callers on the scheduler."""
        self.requests: dict[str, list[dict[str, Any]]] = defaultdict(list)
        """By their operations."""
        self.before: dict[str, list[Callable[[], object]]] = {}
        """The events before the next calls of an operation, one for each call."""
        self._services = services
        self._meta = aws_meta(service) if service else None

    @property
    def batches(self) -> list[list[dict[str, Any]]]:
        """The entries of each call that published or sent a batch."""
        return [
            request[entries]
            for operation, entries in _BATCHES.items()
            for request in self.requests[operation]
        ]

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The entries of all these calls."""
        return [*chain(*self.batches)]

    def get_paginator(self, operation: str) -> Any:
        """Return an operation as pages, of which there is one."""
        call = getattr(self, operation)
        return SimpleNamespace(paginate=lambda **request: [call(**request)])

    def _validate(self, operation: str, request: dict[str, Any]) -> None:
        """Check the names and types of the parameters, as boto3 does."""
        if self._meta:
            name = self._meta.method_to_api_mapping[operation]
            shape = self._meta.service_model.operation_model(name).input_shape
            validate_parameters(request, shape)

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        call = getattr(self.client, operation)

        def ask(**request: Any) -> Any:
            self._begin(operation, request)
            return self._services.ask(lambda: call(**request))

        return ask

    def _begin(self, operation: str, request: dict[str, Any]) -> None:
        self.requests[operation].append(request)
        self._validate(operation, request)
        if waiting := self.before.get(operation):
            waiting.pop(0)()


class OutsideTables(OutsideClient):
    """A client of both tables, which also describes and scans them, and has pages.

    A page takes a read unit, as does an item of a BatchGetItem.
    """

    page: int | None = None
    """The items on a page, at most."""

    def put(self, *items: Item) -> None:
        """Write items to their tables."""
        for item in items:
            self.put_item(TableName=KEYS if "id" in item else TICKETS, Item=item)

    def describe_table(self, TableName: str) -> Any:  # noqa: N803 - as boto3 has it.
        """Return the table's key, and the count of its items."""
        self._begin("describe_table", {"TableName": TableName})
        names = [{"AttributeName": name} for name in SCHEMA[TableName]]
        count = len(self._services.tables.items(TableName))
        return {"Table": {"KeySchema": names, "ItemCount": count}}

    def scan(self, **request: Any) -> Any:
        """Return a page of a segment, which has whole partitions in their order."""
        self._begin("scan", request)
        schema = SCHEMA[request["TableName"]]
        segment, segments = request["Segment"], request["TotalSegments"]
        items = {
            key_of(item, schema): item
            for item in self._services.tables.items(request["TableName"])
        }
        mine = [
            key for key in items if crc32(str(key[0]).encode()) % segments == segment
        ]
        return self._page([items[key] for key in sorted(mine)], request)

    def query(self, **request: Any) -> Any:
        """Return a page of a partition."""
        is_first = "ExclusiveStartKey" not in request
        limit = request.get("Limit") if is_first else request.pop("Limit", None)
        answer = super().__getattr__("query")(**request)
        return answer | self._page(answer["Items"], request, limit)

    def batch_get_item(self, **request: Any) -> Any:
        """Return items by their keys."""
        answer = super().__getattr__("batch_get_item")(**request)
        units = sum(map(len, answer["Responses"].values()))
        return answer | {"ConsumedCapacity": [{"CapacityUnits": units}]}

    def _page(
        self, items: list[Any], request: dict[str, Any], limit: int | None = None
    ) -> dict[str, Any]:
        schema = SCHEMA[request["TableName"]]
        if start := request.get("ExclusiveStartKey"):
            last, is_after = key_of(start, schema), gt
            if request.get("ScanIndexForward") is False:
                is_after = lt
            items = [item for item in items if is_after(key_of(item, schema), last)]
        page = items[: self.page][:limit]
        answer = {"Items": page, "ConsumedCapacity": {"CapacityUnits": 1.0}}
        if page and (len(page) < len(items) or len(page) == limit):
            answer["LastEvaluatedKey"] = {name: page[-1].get(name) for name in schema}
        return answer


@dataclass
class Topics:
    """SNS: the topic, and the queues that subscribe to it, raw."""

    services: ModelServices

    def serve(
        self, operation: str, request: Request, *, partly: bool
    ) -> dict[str, Any]:
        """Let the topic answer, or do an operator's request.

        Raises:
            ServiceError: There is no such subscription.
        """
        subscriptions = self.services.subscriptions
        match operation:
            case "subscribe":
                name = request["Endpoint"].rpartition(":")[2]
                arn = f"{request['TopicArn']}:{name}"
                subscriptions[arn] = request["Endpoint"]
                return {"SubscriptionArn": arn}
            case "unsubscribe":
                if not subscriptions.pop(request["SubscriptionArn"], None):
                    raise ServiceError("NotFound")
                return {}
            case "list_subscriptions_by_topic":
                stacks = [
                    {"SubscriptionArn": arn, "Endpoint": endpoint}
                    for arn, endpoint in subscriptions.items()
                ]
                return {"Subscriptions": stacks}
        answer = self.services.topic.serve(operation, request, partly=partly)
        taken = {entry["Id"] for entry in answer["Successful"]}
        for entry in request["PublishBatchRequestEntries"]:
            for endpoint in subscriptions.values():
                queue = self.services.queues.get(endpoint.rpartition(":")[2])
                if queue and entry["Id"] in taken:
                    queue.send(entry["Message"], entry.get("MessageAttributes"))
        return answer


@dataclass
class Queues:
    """SQS: the queues by their names, with which their URLs end."""

    services: ModelServices

    def serve(
        self, operation: str, request: Request, *, partly: bool
    ) -> dict[str, Any]:
        """Let the queue of the request answer, or do an operator's request.

        Raises:
            ServiceError: There is no such queue.
        """
        queues = self.services.queues
        match operation:
            case "start_message_move_task":
                source, destination = (
                    queues[request[name].rpartition(":")[2]]
                    for name in ("SourceArn", "DestinationArn")
                )
                source.move_to(destination)
                return {"TaskHandle": "handle"}
            case "create_queue":
                created = self.services.create_queue(request["QueueName"])
                return {"QueueUrl": _url(created.name)}
            case "list_queues":
                start = request["QueueNamePrefix"]
                urls = [_url(name) for name in queues if name.startswith(start)]
                return {"QueueUrls": urls} if urls else {}
            case "get_queue_url":
                if request["QueueName"] not in queues:
                    raise ServiceError("AWS.SimpleQueueService.NonExistentQueue")
                return {"QueueUrl": _url(request["QueueName"])}
        name = request["QueueUrl"].rpartition("/")[2]
        if name not in queues:
            raise ServiceError("AWS.SimpleQueueService.NonExistentQueue")
        if operation == "delete_queue":
            del queues[name]
            return {}
        return queues[name].serve(operation, request, partly=partly)


def _url(queue_name: str) -> str:
    return f"https://sqs/1/{queue_name}"
