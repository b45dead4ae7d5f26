"""The life of a system before a restore, and the damage to its tables."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from operators.mark_monitor import ERASED
from operators.restored_system import (
    TABLES,
    Moment,
    RestoredSystem,
)
from simulation.aws.tables import KEYS, TICKETS, address_of
from simulation.engine.choices import Choices, one_of
from ticketctl.aws.items import plain
from ticketctl.ledger.findings import Finding
from ticketctl.ledger.item import MARKS

LONG_AGO: Final = 80
"""Days, more than keys are kept."""

LOST: Final = (TABLES, (TICKETS,), (TICKETS,), (KEYS,))
"""Tables that lose items below the last number."""


@dataclass
class Life:
    """The past of a system, drawn from its choices."""

    system: RestoredSystem
    choices: Choices
    numbers: dict[str, int] = field(default_factory=dict)
    """The announced or imported number of each request."""
    over: dict[str, datetime] = field(default_factory=dict)
    """When the keys' time is over."""
    past: list[Moment] = field(default_factory=list)
    exports: list[Path] = field(default_factory=list)
    of_exports: dict[str, list[Finding]] = field(default_factory=dict)
    """The findings that the tables of each export had."""
    is_changed: bool = False
    """Whether a text was changed."""
    met: Counter[str] = field(default_factory=Counter)

    def _live(self) -> None:
        """Let something happen."""
        system, choices = self.system, self.choices
        last = max(system.tickets(), default=0)
        items = system.tickets().items()
        given = [n for n, item in items if item.get("status") != "reserved"]
        hashed = [n for n, item in items if "salt" in item]
        free = [*({*range(1, last)} - system.tickets().keys())]
        match choices.pick(10):
            case 0:
                system.seed(last + 1 + choices.pick(5))
            case 1:
                first = last + 1 + choices.pick(3)
                self._import(*range(first, first + 1 + choices.pick(3)))
            case 2 if given:
                self._mark(one_of(choices, given))
            case 3 if free:
                self._import(one_of(choices, free))
            case 4:
                self._export()
            case 5 if hashed and choices.chance(0.5):
                system.lose_for_good(one_of(choices, hashed))
                self.met["tickets lost for good"] += 1
            case 5 if hashed[:-1] and choices.chance(0.3):
                self._lose_one(one_of(choices, hashed[:-1]))
            case 6 if system.days_ago:
                system.days_ago = one_of(choices, (0, LONG_AGO // 2))
                self._let_keys_expire()
            case _:
                self._ask(f"key-{len(self.numbers)}")
        self.past.append(system.moment())

    def _ask(self, key: str) -> None:
        """Send a request for the first time."""
        if number := self.system.ask(key):
            self._note(key, number)

    def _note(self, key: str, number: int) -> None:
        self.numbers[key] = number
        if days := self.system.retention_days:
            is_import = key.startswith("import-")
            ago = 0 if is_import else self.system.days_ago
            self.over[key] = self.system.now() + timedelta(days=days)
            if is_import:
                self.over[key] += timedelta(days=self.system.days_ago - ago)

    def _lose_one(self, number: int) -> None:
        """Lose a ticket that no export has any more."""
        for item in [*self.system.services.tables.items(TICKETS)]:
            if int(item["number"]["N"]) == number:
                self.system.lose(item)
                self.met["tickets lost before an export"] += 1

    def _import(self, *numbers: int) -> None:
        self.system.import_(*numbers)
        for number in numbers:
            item = self.system.tickets().get(number, {})
            key = str(item.get("idempotency_key"))
            if key.startswith("import-") and key not in self.numbers:
                self._note(key, number)

    def _mark(self, number: int) -> None:
        status = one_of(self.choices, [*MARKS])
        if self.system.tickets()[number].get("status") != "erased":
            self.system.mark(number, status)

    def _let_keys_expire(self) -> None:
        """Let DynamoDB delete records whose time is over."""
        tables = self.system.services.tables
        for item in [*tables.items(KEYS)]:
            expires = int(item.get("expires_at", {"N": "0"})["N"])
            if expires and expires < self.system.now().timestamp():
                self.system.lose(item)
                self.met["keys whose time is over"] += 1

    def _is_over(self, key: str) -> bool:
        over = self.over.get(key)
        return over is not None and over < self.system.now()

    def _export(self) -> None:
        path = self.system.export(f"{len(self.exports)}.jsonl")
        self.exports.append(path)
        self.of_exports[path.name] = self.system.findings()

    def _damage(self) -> None:
        """Bring tables back to other moments, or lose some of their items."""
        empty: Moment = {name: [] for name in TABLES}
        moments = [empty, *self.past]
        kind = self.choices.pick(6)
        self.met[f"damage {kind}"] += 1
        moment = one_of(self.choices, moments)
        match kind:
            case 0:
                for name in TABLES:
                    self.system.go_back(name, moment[name])
            case 1:
                for name in TABLES:
                    moment = one_of(self.choices, moments)
                    self.system.go_back(name, moment[name])
            case 2:
                name = one_of(self.choices, TABLES)
                self.system.go_back(name, moment[name])
            case 3:
                self._lose(TABLES, 0.3, is_top=True)
            case _:
                which = one_of(self.choices, LOST)
                self._lose(which, 0.5, is_top=False)
        self.is_changed = self.choices.chance(0.15)
        if self.is_changed:
            self._tamper()

    def _lose(self, names: tuple[str, ...], share: float, *, is_top: bool) -> None:
        """Lose items; those of the last number are spared unless it says otherwise."""
        last = max(self.system.tickets(), default=0)
        for name in names:
            for item in [*self.system.services.tables.items(name)]:
                is_last = int(item["number"]["N"]) == last
                if (is_top or not is_last) and self.choices.chance(share):
                    self.system.lose(item)

    def _bring_keys_back(self) -> None:
        """Copy records of a restored table into the live one, of tickets there."""
        tickets = self.system.tickets()
        for item in self.past[-1][KEYS]:
            record = plain(item)
            ticket = tickets.get(int(record["number"]), {})
            is_own = ticket.get("idempotency_key") == record["idempotency_key"]
            if is_own and ticket.get("status") != ERASED:
                self.system.services.tables.write(address_of(item), item)
        self.met["keys brought back"] += 1

    def _tamper(self) -> None:
        """Change the text of a ticket, and lose the record of its key."""
        chained = {
            n: item for n, item in self.system.tickets().items() if "salt" in item
        }
        if chained:
            number = one_of(self.choices, [*chained])
            self.system.change(number, chained[number]["idempotency_key"])
            self.met["changed texts"] += 1
