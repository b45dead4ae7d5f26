"""DynamoDB, SNS and SQS of three kinds: the model, moto, and the emulator."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Final

from botocore.exceptions import ClientError

from operators.model_services import MAX_RECEIVES, ModelServices
from simulation.aws.tables import SCHEMA
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore

DONE: Final = "done"

_serials = count(1)


def on_threads(backend: "Backend", parts: Sequence["Part"]) -> None:
    """Run the parts side by side, as execution environments do."""
    pool = ThreadPoolExecutor(len(parts))
    try:
        for running in [pool.submit(part, backend) for part in parts]:
            running.result()
    finally:
        # At Ctrl-C, or after an error, only the caller tells the others.
        pool.shutdown(wait=False)


def one_by_one(backend: "Backend", parts: Sequence["Part"]) -> None:
    """Run the parts one after the other."""
    for part in parts:
        part(backend)


@dataclass
class Backend:
    """Clients, and the names of resources that no other test uses."""

    name: str
    dynamodb: Any
    sns: Any = None
    sqs: Any = None
    wait: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    together: Callable[["Backend", Sequence["Part"]], None] = on_threads
    """Runs parts as far side by side as the backend can; each gets the backend."""
    tickets: str = "tickets"
    keys: str = "keys"
    lines: str = "lines"
    topic: str = "topic"
    source: str = "source"
    dead: str = "dead"

    def store(self) -> DynamoDBTicketStore:
        """Return the worker's store on the tables."""
        return DynamoDBTicketStore(self.dynamodb, self.tickets, self.keys)


def model_backend(model: ModelServices | None = None) -> Backend:
    """Return a model as a backend."""
    model = model or ModelServices()
    inside = model_inside(model)

    def together(_: Backend, parts: Sequence[Part]) -> None:
        for part in parts:
            model.spawn(partial(part, inside))
        model.scheduler.run()

    return Backend(
        "model", model.dynamodb, model.sns, model.sqs, model.wait, together=together
    )


def model_inside(model: ModelServices) -> Backend:
    """Return a model as a backend for tasks of its scheduler."""
    scheduler = model.scheduler
    return Backend(
        "model",
        model.dynamodb.client,
        wait=scheduler.sleep,
        now=lambda: scheduler.now,
    )


def backend_of(name: str, client: Callable[[str], Any]) -> Backend:
    """Return the services that a function gives clients of, with new resources."""
    backend = Backend(name, *map(client, ("dynamodb", "sns", "sqs")))
    if name == "moto":  # Its tables have no locks.
        backend.together = one_by_one
    serial = next(_serials)
    backend.tickets, backend.keys = f"tickets-{serial}", f"keys-{serial}"
    backend.lines = f"lines-{serial}"
    create_table(backend.dynamodb, backend.tickets, **SCHEMA["tickets"])
    create_table(backend.dynamodb, backend.keys, **SCHEMA["keys"])
    create_table(backend.dynamodb, backend.lines, **SCHEMA["lines"])
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


def create_table(client: Any, name: str, **key: str) -> None:
    """Create a table: a partition key, and perhaps a sort key, of these types."""
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": attribute, "AttributeType": kind}
            for attribute, kind in key.items()
        ],
        KeySchema=[
            {"AttributeName": attribute, "KeyType": role}
            for attribute, role in zip(key, ("HASH", "RANGE"), strict=False)
        ],
    )


Part = Callable[[Backend], object]


def outcome_of(call: Callable[[], object]) -> str:
    """Return `done`, or the error's code followed by the code of each reason."""
    try:
        call()
    except ClientError as error:
        response: Any = error.response
        reasons = response.get("CancellationReasons", ())
        codes = [reason["Code"] for reason in reasons]
        return " ".join([response["Error"]["Code"], *codes])
    return DONE
