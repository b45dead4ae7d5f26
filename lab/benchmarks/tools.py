"""Measures `ticketctl` on large tables and files: `make bench-tools`.

A fake endpoint on this machine answers, so the figures are the tool's own; its
generation of the tickets is not counted.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Final
from xml.sax.saxutils import escape

from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.head import Head
from ticket_numbering.contract.dynamodb_items import (
    NUMBER,
    RECORD_ID,
    key_item,
    ticket_item,
)
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.items import serialized
from ticketctl.aws.stack import NEEDED_OUTPUTS
from ticketctl.aws.table_reader import SEGMENTS

TICKETS: Final = 200_000
LINES: Final = 50_000
PAGE: Final = 2_000
"""Items in an answer of at most 1 MB."""

MAX_AUDIT_MICROSECONDS: Final = 500
MAX_SEND_MICROSECONDS: Final = 1_500
MAX_MEGABYTES: Final = 128

TABLES: Final = {"TicketsTableName": "tickets", "IdempotencyKeysTableName": "keys"}
KEYS: Final = {"tickets": ("project_id", NUMBER), "keys": (RECORD_ID,)}


@dataclass(frozen=True)
class Cost:
    """Of a command."""

    megabytes: float
    microseconds: float
    """Of the processor, for each item."""


def main() -> None:
    """Measure, and print each target with its verdict."""
    with endpoint() as url, TemporaryDirectory() as directory:
        path = Path(directory) / "tickets.jsonl"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(fields(line))}\n" for line in range(LINES))
        # First, for the pages of the audit make this process large, and its child too.
        send = cost_of(url, LINES, "send-file", str(path))
        audit = cost_of(url, TICKETS, "audit")
    targets = {
        f"audit of {TICKETS:,} tickets, peak MB": (MAX_MEGABYTES, audit.megabytes),
        "its microseconds a ticket": (MAX_AUDIT_MICROSECONDS, audit.microseconds),
        f"send-file of {LINES:,} lines, peak MB": (MAX_MEGABYTES, send.megabytes),
        "its microseconds a line": (MAX_SEND_MICROSECONDS, send.microseconds),
    }
    for name, (bound, measured) in targets.items():
        verdict = "met" if measured <= bound else "NOT MET"
        line = f"{name:40} at most {bound:<5g} measured {measured:<7.3g} {verdict}"
        print(line)  # noqa: T201 - it is a report.


def cost_of(url: str, items: int, *command: str) -> Cost:
    """Run a command to its end; return its cost."""
    environment = os.environ | {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "eu-west-1",
    }
    program = [sys.executable, "-m", "ticketctl", *command]
    with subprocess.Popen(  # noqa: S603 - our own command.
        program, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    seconds = used.ru_utime + used.ru_stime
    kilobytes = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Cost(kilobytes / 1024, seconds / items * 1_000_000)


def fields(serial: int, project: str = "PROJ") -> dict[str, Any]:
    """Return a request of the size of a typical issue."""
    return {
        "project_id": project,
        "idempotency_key": f"key-{serial}",
        "title": f"Ticket {serial}",
        "description": "x" * 300,
        "labels": ["billing", "web"],
    }


def pages(table: str, segment: int) -> Iterator[dict[str, Any]]:
    """Yield the answers to a scan of a segment, which holds a chained sequence."""
    head, tickets = Head(), TICKETS // SEGMENTS
    for start in range(0, tickets, PAGE):
        requests = [
            CreateTicket.model_validate(fields(serial, f"PROJ-{segment}"))
            for serial in range(start, start + PAGE)
        ]
        block = Block.of(head, requests, "2026-11-21T05:53:00.123Z", lambda: "s" * 22)
        head = block.last
        items = [
            serialized(
                ticket_item(request, assignment, salt)
                if table == "tickets"
                else key_item(request, assignment, None)
            )
            for request, assignment, salt in block.tickets
        ]
        page: dict[str, Any] = {"Items": items, "Count": PAGE}
        if start + PAGE < tickets:
            page["LastEvaluatedKey"] = {name: items[-1][name] for name in KEYS[table]}
        yield page


class Endpoint(ThreadingHTTPServer):
    """Answers for CloudFormation, DynamoDB and SQS."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self.scans = {
            (table, segment): pages(table, segment)
            for table in KEYS
            for segment in range(SEGMENTS)
        }

    def answer(self, operation: str, request: dict[str, Any]) -> Any:
        """Return the answer of DynamoDB or SQS."""
        match operation:
            case "DescribeTable":
                key = KEYS[request["TableName"]]
                schema = [{"AttributeName": name, "KeyType": "HASH"} for name in key]
                return {"Table": {"KeySchema": schema, "ItemCount": TICKETS}}
            case "Scan":
                return next(self.scans[request["TableName"], request["Segment"]])
            case "SendMessageBatch":
                ids = [entry["Id"] for entry in request["Entries"]]
                sent = [{"Id": one, "MessageId": one} for one in ids]
                return {"Successful": sent, "Failed": []}
        raise ValueError(f"the fake endpoint does not know {operation}")


class _Call(BaseHTTPRequestHandler):
    server: Endpoint
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if target := self.headers.get("X-Amz-Target"):
            answer = self.server.answer(target.rpartition(".")[2], json.loads(body))
            content, kind = json.dumps(answer), "application/x-amz-json-1.0"
        else:
            content, kind = stack(), "text/xml"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Be silent."""


def stack() -> str:
    """Return CloudFormation's description of the stack."""
    outputs = {
        name: f"https://sqs.eu-west-1.amazonaws.com/1/{name}" for name in NEEDED_OUTPUTS
    }
    members = "".join(
        f"<member><OutputKey>{name}</OutputKey>"
        f"<OutputValue>{escape(value)}</OutputValue></member>"
        for name, value in (outputs | TABLES).items()
    )
    return (
        "<DescribeStacksResponse><DescribeStacksResult><Stacks><member>"
        "<StackName>ticket-numbering</StackName>"
        "<StackStatus>CREATE_COMPLETE</StackStatus>"
        "<CreationTime>2026-11-21T05:53:00Z</CreationTime>"
        f"<Outputs>{members}</Outputs>"
        "</member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
    )


@contextmanager
def endpoint() -> Iterator[str]:
    """Run the endpoint for a while."""
    with Endpoint() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


if __name__ == "__main__":
    main()
