"""DynamoDB, SNS and SQS of three kinds: the model, moto, and the emulator."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from botocore.exceptions import ClientError

from operators.model_services import MAX_RECEIVES, ModelServices
from simulation.aws.tables import SCHEMA
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore

DONE: Final = "done"

_serials = count(1)


@dataclass
class Backend:
    """Clients, and the names of resources that no other test uses."""

    name: str
    dynamodb: Any
    sns: Any = None
    sqs: Any = None
    wait: Callable[[float], None] = time.sleep
    tickets: str = "tickets"
    keys: str = "keys"
    topic: str = "topic"
    source: str = "source"
    dead: str = "dead"

    def store(self) -> DynamoDBTicketStore:
        """Return the worker's store on the tables."""
        return DynamoDBTicketStore(self.dynamodb, self.tickets, self.keys)


def model_backend(model: ModelServices | None = None) -> Backend:
    """Return a model as a backend."""
    model = model or ModelServices()
    return Backend("model", model.dynamodb, model.sns, model.sqs, model.wait)


def backend_of(name: str, client: Callable[[str], Any]) -> Backend:
    """Return the services that a function gives clients of, with new resources."""
    backend = Backend(name, *map(client, ("dynamodb", "sns", "sqs")))
    serial = next(_serials)
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
