"""Random pasts, damages and kills: after a restore each request has its old number."""

import json
import shlex
from copy import deepcopy
from random import Random
from typing import Any

import pytest

from tests.support.audits import audited
from tests.support.builders import create_ticket
from tests.support.canned_aws import failing
from tests.support.stage import Stage, line
from ticketctl.cli.errors import Status
from ticketctl.ledger.findings import FindingKind

TABLES = ("tickets", "keys")


class World:
    """A system with one project, what was announced, and what its tables had."""

    def __init__(self, stage: Stage, seed: int) -> None:
        """Begin with empty tables."""
        self.stage, self.random = stage, Random(seed)  # noqa: S311
        self.numbers: dict[str, int] = {}
        """Of each request, as it was announced."""
        self.past = [self.tables()]

    def tables(self) -> dict[str, list[Any]]:
        tables = self.stage.services.tables
        return deepcopy({name: [*tables.items(name)] for name in TABLES})

    def send(self, key: str) -> int:
        """Let the worker number a request; return the number that is announced."""
        request = create_ticket(idempotency_key=key, title=f"Of {key}")
        self.stage.services.queues["source"].send(request.model_dump_json())
        self.stage.work()
        event = json.loads(self.stage.published[-1]["Message"])["data"]
        assert event["idempotency_key"] == key
        return int(event["number"])

    def live(self) -> None:
        """Let something happen."""
        last = max(self.stage.tickets(), default=0)
        match self.random.randrange(6):
            case 0:
                self.stage.seed(last + self.random.randint(1, 4)).apply()
            case 1:
                first = last + self.random.randint(1, 3)
                lines = [line(first + offset) for offset in range(2)]
                self.stage.call("import", self.stage.file(*lines))
            case 2 if given := self.stage.given():
                mark = self.random.choice(["void", "erase"])
                number = self.random.choice(given)
                self.stage.call(mark, f"PROJ-{number}", "--reason", "so")
            case _:
                key = f"key-{len(self.numbers)}"
                self.numbers[key] = self.send(key)
        self.past.append(self.tables())

    def damage(self, *, both: bool) -> None:
        """Bring each table back to an earlier moment, or one alone."""
        for name in TABLES if both else [self.random.choice(TABLES)]:
            moment = self.random.choice([self.past[0], *self.past])
            self.empty(name)
            self.stage.write(*moment[name])

    def empty(self, name: str) -> None:
        for item in [*self.stage.services.tables.items(name)]:
            place = item["idempotency_key"]["S"] if name == "keys" else 0
            self.stage.lose("PROJ", place or int(item["number"]["N"]))

    def restore(self, *, is_killed: bool) -> Any:
        """Restore, once killed at a call."""
        if is_killed:
            calls = [int] * self.random.randrange(6)
            kill: Any = failing(KeyboardInterrupt())
            self.stage.before("transact_write_items", *calls, kill)
            self.stage.call("restore", str(self.stage.folder / "saved.jsonl"))
            self.stage.before("transact_write_items")
        return self.stage.call("restore", str(self.stage.folder / "saved.jsonl"))


@pytest.mark.parametrize("seed", range(24))
def test_each_request_has_its_old_number_when_an_export_is_restored(
    seed: int, stage: Stage
) -> None:
    world = World(stage, seed)
    stage.controls.mapping = "Disabled"
    for _ in range(world.random.randint(4, 14)):
        world.live()
    whole = stage.tickets()
    (stage.folder / "saved.jsonl").write_text(stage.call("export").out)
    world.damage(both=world.random.random() < 0.7)

    ended = world.restore(is_killed=world.random.random() < 0.5)

    assert ended.status in {Status.OK, Status.PROBLEM}, ended.err
    for program, *words in map(shlex.split, ended.out.splitlines()):
        if program == "ticketctl":
            assert stage.call(*words).status == Status.OK
    there = stage.tickets()
    refused = {number for number in whole if f"PROJ-{number}:" in ended.err}
    assert whole.keys() - there.keys() <= refused, ended
    # A seed may have a guard more, among numbers that nobody has.
    assert {there[n]["status"] for n in there.keys() - whole.keys()} <= {"reserved"}
    kinds = {finding.kind for finding in audited(stage).findings}
    assert (
        kinds <= {FindingKind.KEY_WITHOUT_TICKET, FindingKind.GAP}
        if refused
        else not kinds
    )
    for key, number in world.numbers.items():
        assert number in refused or world.send(key) == number
    assert world.send("new") > max(whole, default=0)
