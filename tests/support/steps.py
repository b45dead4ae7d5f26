"""The steps of a transcript, written after `> `."""

import base64
import json
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

from simulation.aws.faults import Fault
from tests.support.builders import create_ticket, ticket_fields
from tests.support.canned_aws import failing
from tests.support.controls import ALARM_TOPIC, ALIAS, GONE, SINCE, alarm
from tests.support.seed_items import ticket_item
from tests.support.stage import Stage
from ticket_numbering.contract.attributes import text_attribute
from ticket_numbering.contract.dynamodb_items import CHAIN, EXTERNAL, ORIGIN, RESERVED
from ticketctl.aws.items import plain, serialized

_SHORT: Final = re.compile(r"([\w.-]+)/(\S+)")


class Steps:
    """Steps on a stage; each public method is one.

    A step's arguments are texts; it may return lines to show.
    """

    def __init__(self, stage: Stage) -> None:
        """Let the steps happen on a stage."""
        self.stage, self.typed = stage, list[str]()
        """The lines that a person will type."""
        self.services, self._controls = stage.services, stage.controls
        self.put, self.read = stage.write, stage.read
        """The tables, for writes and reads past the worker and the clients."""
        self._file, self._seen = "", 0

    def file(self, name: str) -> None:
        """Begin a file, whose lines follow."""
        self._file = name
        (self.stage.folder / name).write_text("", encoding="utf-8")

    def write(self, line: str) -> None:
        """Add a line to the file."""
        with (self.stage.folder / self._file).open("a", encoding="utf-8") as file:
            file.write(_unescaped(line) + "\n")

    def cut(self) -> None:
        """Take the last sign from the file, which is a line break or a part of it."""
        path = self.stage.folder / self._file
        path.write_bytes(path.read_bytes()[:-1])

    def encode(self, name: str, encoding: str) -> None:
        """Write a file again as another program would."""
        path = self.stage.folder / name
        path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))

    def types(self, *lines: str) -> None:
        """Let a person answer the questions that come; `^C` is Ctrl-C."""
        self.typed += lines

    def passes(self, hours: str) -> None:
        """Let hours pass on the queues."""
        self.services.wait(float(hours) * 3600)

    def output(self, name: str, value: str) -> None:
        """Give the stack another output."""
        self._controls.outputs[name] = value

    def parameter(self, name: str, value: str) -> None:
        """Give the stack another parameter."""
        self._controls.parameters[name] = value

    def refuses(self, service: str, code: str = "AccessDenied") -> None:
        """Let a service refuse every call."""
        self._controls.refused[service] = code

    def denies(self, operation: str) -> None:
        """Let a service of the stack's controls deny the right to an operation."""
        self._controls.errors[operation] = "AccessDenied"

    def silent(self, *services: str) -> None:
        """Let no connection be made to services."""
        self._controls.silent |= {*services}

    def alarm(self, name: str, state: str = "OK", *more: str) -> None:
        """Give the stack an alarm.

        Further arguments are `off`, `without-receiver`, or the reason of its state; a
        state of `MISSING` is that of a deleted alarm.
        """
        later = len(self._controls.alarms) * timedelta(minutes=1)
        members: dict[str, Any] = {"StateUpdatedTimestamp": SINCE + later}
        for word in more:
            match word:
                case "off":
                    members["ActionsEnabled"] = False
                case "without-receiver":
                    members["AlarmActions"] = []
                case _:
                    members["StateReason"] = _unescaped(word)
        described = None if state == "MISSING" else alarm(state, **members)
        self._controls.alarms[name] = described

    def removed(self, name: str) -> None:
        """Let an update have removed an alarm from the stack."""
        self._controls.removed.add(name)

    def alarm_address(self, address: str, arn: str = f"{ALARM_TOPIC}:1") -> None:
        """Subscribe an address to the alarm topic, which the stack then has."""
        self._controls.has_alarm_topic = True
        self.services.subscriptions[arn] = address

    def mapping(self, state: str, leads_to: str = ALIAS) -> None:
        """Give the event source mapping a state, and the function that it invokes."""
        self._controls.mapping, self._controls.leads_to = state, leads_to

    def second(self, state: str) -> None:
        """Give the worker a second queue, whose mapping has a state."""
        self.services.create_queue("second")
        self._controls.second = state

    def holding(self, queue: str, hours: str) -> None:
        """Let another consumer receive a message of a queue, and hold it for hours."""
        self.services.queues[queue].send("{}")
        [message] = self.services.queues[queue].receive(1)
        message.visible_at = self.services.scheduler.now + float(hours) * 3600

    def waiting(self, count: str) -> None:
        """Put messages on the queue that no consumer receives."""
        for _ in range(int(count)):
            self.services.queues["source"].send("{}")

    def alarm_topic(self) -> None:
        """Give the stack an alarm topic without a subscription."""
        self._controls.has_alarm_topic = True

    def canary(self, version: str, share: str) -> None:
        """Let the alias lead a share of the batches to another version."""
        self._controls.weights[version] = float(share)

    def oldest(self, *seconds: str) -> None:
        """Let the oldest message have had these ages, a minute apart."""
        self._controls.ages = [*map(float, seconds)]

    def in_line(self, failures: str, *seconds: str) -> None:
        """Let workers have waited in line, and the line have failed."""
        self._controls.line = {
            "SecondsInLine": [*map(float, seconds)],
            "LineFailures": [float(failures)],
        }

    def logged(self, text: str) -> None:
        """Let the worker's log have a line."""
        self._controls.log.append(text)

    def lost(self, *words: str) -> None:
        """Lose a setting: `keys expiry`, `topic`, `policy`."""
        self._controls.lost.add(" ".join(words))

    def lost_log(self) -> None:
        """Delete the worker's log group."""
        self._controls.errors["StartQuery"] = GONE

    def slow_log(self) -> None:
        """Let no query of the log end."""
        self._controls.is_log_slow = True

    def fails(self, operation: str, *faults: str) -> None:
        """Let the next calls of an operation of SQS, SNS or DynamoDB meet faults.

        They are members of `Fault`; `-` is none.
        """
        members = [None if name == "-" else Fault[name] for name in faults]
        self.stage.faults.setdefault(operation, []).extend(members)

    def interrupts(self, operation: str, after: str = "0") -> None:
        """Let a person press Ctrl-C at a call of an operation, after some others."""
        first = [lambda: None] * int(after)
        self.stage.before(operation, *first, failing(KeyboardInterrupt()))

    def ticket(self, project_id: str, key: str, *fields: str) -> None:
        """Let the worker number a request; `name=value` is a further field."""
        text = dict(field.split("=", 1) for field in fields)
        request = create_ticket(project_id, key, **text)
        last = self._last(project_id)
        number, chain = int(last.get("number", 0)), last.get("chain", "")
        self.stage.give(request, number + 1, chain)

    def numbers(self, project_id: str, last: str | int) -> None:
        """Let the worker number the requests k-1, k-2, ... up to a number."""
        for number in range(1, int(last) + 1):
            self.ticket(project_id, f"k-{number}")

    def item(self, fields: str) -> None:
        """Put an item past the worker, of either table, by its fields in JSON."""
        self.put(serialized(json.loads(fields, parse_float=Decimal)))

    def changes(
        self, project_id: str, number: str | int, fields: str = "{}", **more: Any
    ) -> None:
        """Change fields of a ticket, in JSON, past the worker; null removes one."""
        self.stage.change(project_id, int(number), **json.loads(fields), **more)

    def changes_key(
        self, project_id: str, key: str, fields: str = "{}", **more: Any
    ) -> None:
        """Change fields of an idempotency key's record likewise."""
        self.stage.change(project_id, key, **json.loads(fields), **more)

    def loses(self, project_id: str, number: str | int) -> None:
        """Lose a ticket."""
        self.stage.lose(project_id, int(number))

    def loses_text(self, project_id: str, number: str | int) -> None:
        """Lose a ticket but for its hash, which a reserved item keeps."""
        chain = self.read(project_id, int(number))[CHAIN]
        marks = {"status": RESERVED, ORIGIN: EXTERNAL}
        self.put(ticket_item(project_id, number, None, **marks) | {CHAIN: chain})

    def loses_key(self, project_id: str, key: str) -> None:
        """Lose the record of an idempotency key."""
        self.stage.lose(project_id, key)

    def dead(self, body: str, *attributes: str) -> None:
        """Put a dead letter; `PROJECT/key` is the body of a short request.

        `name=text` is an attribute, `name:=base64` a binary one. A terminal shows
        `dead-001` of the id `dead-001-0000`.
        """
        if match := _SHORT.fullmatch(body):
            body = json.dumps(ticket_fields(*match.groups(), title="t"))
        queue = self.stage.dead
        message = queue.send(_unescaped(body), dict(map(_attribute, attributes)))
        del queue.messages[message.id]
        message.id = f"dead-{len(queue.arrived):03}-0000"
        queue.messages[message.id] = message

    def holds(self, *starts: str) -> None:
        """Let another consumer hold dead letters for an hour."""
        self.stage.hold(*starts)

    def worker(self) -> None:
        """Let the worker number all that is sent from now on."""
        self.stage.has_worker = True

    def meanwhile(self, body: str, *pairs: str) -> None:
        """Let a message come when a command looks at a queue; steps do so in turn.

        `PROJECT/key name=value` is a request, which the worker numbers and announces;
        any other body is published as it is, with attributes.
        """
        services, values = self.services, _values(pairs)
        short = _SHORT.fullmatch(body)

        def come() -> None:
            if short:
                request = ticket_fields(*short.groups(), **values)
                services.queues["source"].send(json.dumps(request))
                self.stage.work()
                return
            attributes = {name: text_attribute(values[name]) for name in values}
            for endpoint in services.subscriptions.values():
                name = endpoint.rpartition(":")[2]
                services.queues[name].send(_unescaped(body), attributes)

        services.sqs.before.setdefault("receive_message", []).append(come)

    # The state afterwards.

    def queues(self) -> Iterator[str]:
        """Show the messages on the queues, and a remaining temporary queue."""
        for name, queue in self.services.queues.items():
            if "-watch-" in name:
                yield f"temporary: {name}"
            for message in queue.messages.values():
                attributes = message.attributes.items()
                texts = [f" {name}={it.get('StringValue')}" for name, it in attributes]
                yield f"{name}: {message.body}{''.join(texts)}"
        yield from (
            f"subscribed: {subscription}"
            for subscription in self.services.subscriptions
        )

    def tickets(self) -> Iterator[str]:
        """Show the tickets' items by number, for an import writes several at a time."""
        items = map(plain, self.services.tables.items("tickets"))
        for item in sorted(
            items, key=lambda item: (item["project_id"], item["number"])
        ):
            yield json.dumps(item, default=str, sort_keys=True)

    def published(self) -> Iterator[str]:
        """Show the events that were published since the last time."""
        entries = self.services.sns.entries
        for entry in entries[self._seen :]:
            yield entry["Message"]
        self._seen = len(entries)

    def _last(self, project_id: str) -> dict[str, Any]:
        items = map(plain, self.services.tables.items("tickets"))
        own = [item for item in items if item["project_id"] == project_id]
        return max(own, key=lambda item: item["number"], default={})


def _attribute(text: str) -> tuple[str, dict[str, Any]]:
    name, _, value = text.partition("=")
    if name.endswith(":"):
        binary = base64.b64decode(value)
        return name[:-1], {"DataType": "Binary", "BinaryValue": binary}
    return name, text_attribute(_unescaped(value))


def _values(fields: Sequence[str]) -> dict[str, Any]:
    pairs = (_unescaped(field).split("=", 1) for field in fields)
    return {name: int(v) if v.isdecimal() else v for name, v in pairs}


def _unescaped(text: str) -> str:
    return re.sub(r"\\x(..)", lambda match: chr(int(match[1], 16)), text)
