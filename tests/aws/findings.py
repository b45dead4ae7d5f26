"""Compares the calls of a run with the items that it left."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

from botocore.exceptions import ClientError

from conformance.backends import Backend
from conformance.case import FAILED, Case
from conformance.single_items import SINGLE_ITEMS
from conformance.transactions import TRANSACTIONS
from induction.axioms import AXIOMS
from operators.model_services import ModelServices
from simulation.aws.items import Address, Item
from simulation.aws.tables import KEYS, TICKETS, address_of
from simulation.checks.chains import Chains
from simulation.checks.monitor import Monitor
from simulation.checks.violations import Violation
from tests.aws.contention import Contention, Reader
from tests.aws.meter import Cancelled
from tests.aws.tables import empty
from ticket_numbering.contract.dynamodb_items import key_id
from ticketctl.audit.audit import audit_tables
from ticketctl.audit.reading import AuditPlan
from ticketctl.aws.table_reader import TableReader

Items = Mapping[Address, Item]

CASES: Final[Sequence[Case]] = (*SINGLE_ITEMS, *TRANSACTIONS)
NONE: Final = "None"
CONFLICT: Final = "TransactionConflict"


def differences(backend: Backend) -> Iterator[str]:
    """Run the conformance suite's cases of DynamoDB; yield those that differ.

    Without the known differences of an emulator, whose items may not be deletable.
    """
    for case in CASES:
        if backend.name in case.instead:
            continue
        try:
            seen = case.outcome(backend)
        except ClientError as error:
            seen = error
        if seen != case.aws:
            yield f"{case.name}: {seen}, and not {case.aws}"
        empty(backend)


def of_cancellations(cancelled: Iterable[Cancelled], items: Items) -> dict[str, Any]:
    """Return the reasons, and whether they told the truth."""
    kinds, left_out, shown, conflicts_of_free = Counter[str](), 0, 0, 0
    wrong: list[str] = []
    for one in cancelled:
        codes = [reason["Code"] for reason in one.reasons]
        kinds[" + ".join(sorted({*codes} - {NONE}))] += 1
        left_out += _has_left_out(codes)
        conflicts_of_free += _has_conflict_of_free(one, items)
        for item, reason in zip(one.items, one.reasons, strict=True):
            if reason["Code"] == FAILED:
                shown += 1
                found = items.get(address_of(item))
                if found is None or found != reason.get("Item"):
                    wrong.append(f"failed condition: {_name(item)}")
    return {
        "reasons": dict(kinds),
        "failed_conditions": shown,
        "with_a_reason_left_out": left_out,
        "conflicts_of_a_number_that_stayed_free": conflicts_of_free,
        "contradictions": wrong,
    }


def _has_left_out(codes: Sequence[str]) -> bool:
    """Tell whether a ticket is taken and one before it in the block seems free.

    A block's tickets and keys take turns, and a sequence has no gap.
    """
    tickets = codes[::2]
    last = max((n for n, code in enumerate(tickets) if code == FAILED), default=0)
    return NONE in tickets[:last]


def _has_conflict_of_free(one: Cancelled, items: Items) -> bool:
    """Tell whether a ticket met a conflict, and got the very number later."""
    return any(
        reason["Code"] == CONFLICT
        and "id" not in item
        and items.get(address_of(item), {}).get("idempotency_key")
        == item["idempotency_key"]
        for item, reason in zip(one.items, one.reasons, strict=True)
    )


def _name(item: Item) -> str:
    return "-".join(map(str, address_of(item).key))


def of_reads(reader: Reader, items: Items) -> dict[str, Any]:
    """Return the reads of half a block and of the past, and of undecided writes."""
    return {
        "queries": reader.queries,
        "half_seen_blocks": reader.half_seen,
        "longest_half_seen_ms": round(1000 * reader.longest_half_seen, 1),
        "stale": reader.stale,
        "highest": {"contradictions": reader.went_back},
        "contradictions": [
            f"read before it was decided: {reader.project_id}-{number}"
            for number, keys in sorted(reader.keys.items())
            if keys != _keys(items, reader.project_id, number)
        ],
    }


def _keys(items: Items, project_id: str, number: int) -> set[str]:
    ticket = items.get(Address(TICKETS, (project_id, Decimal(number))))
    return {ticket["idempotency_key"]["S"]} if ticket else set()


def of_contention(contention: Contention, items: Items) -> dict[str, Any]:
    """Return the throughput of some workers, and all that they saw."""
    numbered = {
        key: {int(record["number"]["N"])}
        for key in contention.answers
        if (record := items.get(Address(KEYS, (key_id(key),))))
    }
    wrong = [
        key_id(key)
        for key, numbers in contention.answers.items()
        if numbers != numbered.get(key)
    ]
    return {
        "workers": contention.workers,
        "projects": len(contention.projects),
        "tickets": len(contention.answers),
        "tickets_a_second": round(len(contention.answers) / contention.seconds, 1),
        "units": contention.meter.units(),
        "latencies_ms": contention.meter.latencies_ms(),
        "failures": dict(contention.failures),
        "cancellations": of_cancellations(contention.meter.cancelled, items),
        "reads": of_reads(contention.reader, items),
        "contradictions": [f"announced with another number: {key}" for key in wrong],
    }


def of_tables(backend: Backend, items: Items) -> dict[str, Any]:
    """Return the audit of all that was written, and whether the chain fits."""
    reader = TableReader(backend.dynamodb, backend.tickets, backend.keys)
    audits = audit_tables(reader, AuditPlan()).projects
    found = [str(finding) for audit in audits for finding in audit.findings]
    return {
        "last_numbers": {audit.project_id: audit.last for audit in audits},
        "tickets": sum(address.table == TICKETS for address in items),
        "contradictions": [*found, *_chain_problems(items)],
    }


def _chain_problems(items: Items) -> Iterator[str]:
    """Yield the first ticket whose chain or date does not follow."""
    model = ModelServices()
    monitor = Monitor(model.topic, model.queues["source"], model.queues["dead"])
    try:
        Chains(monitor, timedelta(0)).decided(items)
    except Violation as violation:
        yield str(violation)


def of_axioms(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a full run saw of each axiom of the proof, and against it."""
    stack, parts = report["stack"], [*report["contention"].values()]
    reads = [part["reads"] for part in parts]
    cancelled = [part["cancellations"] for part in parts]
    whole = [report["conformance"], report["tables"], stack["verify"], stack["load"]]
    queries = sum(read["queries"] for read in reads)
    failed = sum(part["failed_conditions"] for part in cancelled)
    rows: Sequence[tuple[str, Sequence[Any]]] = (
        (f"{report['tables']['tickets']} tickets", [*whole, *parts]),
        (f"{queries} queries", reads),
        (f"{failed} failed conditions", cancelled),
        (f"{stack['tickets']} audited tickets", [stack["audit"], stack["export"]]),
        (f"{queries} consistent queries", [read["highest"] for read in reads]),
    )
    return [
        {
            "axiom": axiom.text,
            "seen": seen,
            "contradicted": [line for part in parts for line in part["contradictions"]],
        }
        for axiom, (seen, parts) in zip(AXIOMS, rows, strict=True)
    ]


def contradictions(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield all that contradicts the proof, from every part of a report."""
    for name, part in report.items():
        if name == "contradictions":
            yield from part
        elif isinstance(part, Mapping):
            yield from contradictions(part)
