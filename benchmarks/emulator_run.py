"""A contender at work on the emulator: real clients, real processes, up to a few.

Its seconds say nothing of DynamoDB, and it tells of no conflict; requests and units
are what carry over. It does not say what a cancelled transaction took.
"""

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import islice
from random import Random
from typing import Any, Final

from benchmarks.contenders import CONTENDERS
from benchmarks.emulator_services import Services, counted, create_services
from benchmarks.lambda_context import context
from benchmarks.measurement import Measurement
from benchmarks.processes import processes
from benchmarks.site import Site
from benchmarks.tally import Tally
from benchmarks.timing import timed
from benchmarks.workload import Workload, bodies
from simulation.world import quiet
from ticketctl.local.clients import Clients

MAX_WORKERS: Final = 8
MAX_ENTRIES: Final = 10
WAIT_SECONDS: Final = 1
FUNCTION_SECONDS: Final = 30.0


def run_on_emulator(
    endpoint_url: str, name: str, contender: str, workload: Workload, messages: int
) -> Measurement:
    """Let a contender number so many messages, and return what was counted.

    Args:
        endpoint_url: The emulator's.
        name: Unique among the runs on this emulator.
        contender: One of `CONTENDERS`.
        workload: Of it, the projects, the workers and the batch count.
        messages: Sent before the workers start.
    """
    with Clients(endpoint_url) as clients:
        services = create_services(clients, endpoint_url, name)
        _send(clients.client("sqs"), services.queue_url, workload, messages)
        start = time.monotonic()
        with processes(workload.workers) as pool:
            work = [(contender, services, workload.batch_size)] * workload.workers
            tally = _sum(pool.starmap(_work, work, chunksize=1))
        tickets = _tickets(clients, services.settings.tickets_table)
        tally.tickets = len(tickets)
        return Measurement.of(tally, time.monotonic() - start, tickets)


def _send(sqs: Any, queue_url: str, workload: Workload, messages: int) -> None:
    source = islice(bodies(workload, Random(1)), messages)  # noqa: S311 - no secret.
    while batch := [*islice(source, MAX_ENTRIES)]:
        entries = [
            {"Id": str(place), "MessageBody": body}
            for place, (_, _, body) in enumerate(batch)
        ]
        sqs.send_message_batch(QueueUrl=queue_url, Entries=entries)


def _work(contender: str, services: Services, batch_size: int) -> Tally:
    """Do what Lambda does with one sandbox, until the queue is empty."""
    tally = Tally()
    with Clients(services.endpoint_url) as mine, Clients(services.endpoint_url) as its:
        site = Site(
            counted(its.client("dynamodb"), tally),
            counted(its.client("sns"), tally),
            counted(its.client("sqs"), tally),
            services.settings,
            tally,
            sleep=time.sleep,
            jitter=random.uniform,
            now=lambda: datetime.now(UTC),
            pool=ThreadPoolExecutor,
        )
        handler = timed(CONTENDERS[contender](site), time.monotonic, tally)
        sqs = mine.client("sqs")
        with quiet():
            while records := _receive(sqs, services.queue_url, batch_size, tally):
                answer = handler({"Records": records}, context(FUNCTION_SECONDS))
                failed = {
                    each["itemIdentifier"] for each in answer["batchItemFailures"]
                }
                _delete(sqs, services.queue_url, records, failed)
    return tally


def _receive(
    sqs: Any, queue_url: str, batch_size: int, tally: Tally
) -> list[dict[str, Any]]:
    """Receive a batch; nothing only if nothing is on its way either."""
    while True:
        found = sqs.receive_message(
            QueueUrl=queue_url,
            MaxNumberOfMessages=min(batch_size, MAX_ENTRIES),
            WaitTimeSeconds=WAIT_SECONDS,
            AttributeNames=["All"],
        ).get("Messages", [])
        records = [_record(each) for each in found]
        counts = [
            int(each["attributes"]["ApproximateReceiveCount"]) for each in records
        ]
        tally.redelivered += sum(count > 1 for count in counts)
        if records or _is_empty(sqs, queue_url):
            return records


def _is_empty(sqs: Any, queue_url: str) -> bool:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    answer = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=names)
    return all(answer["Attributes"][name] == "0" for name in names)


def _record(message: dict[str, Any]) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-west-1:000000000000:queue",
        "awsRegion": "eu-west-1",
    }


def _delete(
    sqs: Any, queue_url: str, records: Sequence[dict[str, Any]], failed: set[str]
) -> None:
    entries = [
        {"Id": str(place), "ReceiptHandle": record["receiptHandle"]}
        for place, record in enumerate(records)
        if record["messageId"] not in failed
    ]
    if entries:
        sqs.delete_message_batch(QueueUrl=queue_url, Entries=entries)


def _sum(tallies: Sequence[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.add(tally)
    return total


def _tickets(clients: Clients, table: str) -> list[tuple[str, int, str]]:
    pages = clients.client("dynamodb").get_paginator("scan").paginate(TableName=table)
    return [
        (
            item["project_id"]["S"],
            int(item["number"]["N"]),
            item["idempotency_key"]["S"],
        )
        for page in pages
        for item in page["Items"]
    ]
