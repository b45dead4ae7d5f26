"""The facts of `docs/proof.md`, compared with the answers to contending workers."""

from collections.abc import Iterator, Mapping, Sequence

from conformance.backends import Backend
from conformance.contention import Contention, of_project
from induction.axioms import AXIOMS
from simulation.aws.items import Address, Item
from simulation.aws.tables import KEYS, TICKETS, address_of, by_address
from simulation.checks.chains import VERIFIER
from ticket_numbering.allocation.store import MAX_KEYS_PER_READ
from ticket_numbering.contract.dynamodb_items import key_id, record_id
from ticket_numbering.contract.messages import RequestKey

Contradictions = Sequence[list[str]]
"""By fact, in the order of the axioms."""


def contradicted(backend: Backend, workers: int = 4, batches: int = 4) -> list[str]:
    """Let workers contend; return the contradictions of the proof's facts."""
    contention = Contention(backend)
    contention.run(workers, batches)
    return [
        f"{axiom.text} {line}"
        for axiom, lines in zip(AXIOMS, contradictions(contention), strict=True)
        for line in lines
    ]


def contradictions(contention: Contention) -> Contradictions:
    """Compare the answers with the items that are there."""
    items = _items_of(contention.backend, [*contention.answers])
    tickets = {
        int(address.key[1]): item
        for address, item in items.items()
        if address.table == TICKETS
    }
    undecided = [
        f"read before it was decided: {number}"
        for number, keys in sorted(contention.keys.items())
        if keys != _keys(tickets.get(number))
    ]
    untrue = [
        f"failed condition: {'-'.join(map(str, address_of(item).key))}"
        for item, shown in contention.shown
        if not shown or items.get(address_of(item)) != shown
    ]
    whole = [*_of_blocks(contention, items, tickets)]
    return [whole, undecided, untrue, [], contention.went_back]


def _of_blocks(
    contention: Contention, items: Mapping[Address, Item], tickets: Mapping[int, Item]
) -> Iterator[str]:
    """Yield gaps, tickets without their keys and keys without, and wrong hashes."""
    if sorted(tickets) != [*range(1, len(tickets) + 1)]:
        yield f"the numbers have a gap: {sorted(tickets)}"
    for key, numbers in contention.answers.items():
        record = items.get(Address(KEYS, (key_id(key),)))
        number = record and int(record["number"]["N"])
        ticket = tickets.get(number or 0)
        if numbers != {number} or _keys(ticket) != {key.idempotency_key}:
            yield f"{key.idempotency_key} got {numbers}, and has {number}"
    plain = VERIFIER["plain"]
    yield from VERIFIER["verify"](
        [plain({"M": tickets[number]}) for number in sorted(tickets)], ()
    )


def seen_of(contention: Contention) -> Sequence[str]:
    """Return how often each fact could be contradicted; "" of a condition."""
    queries = contention.counts["queries"]
    return (
        f"{len(contention.answers)} tickets",
        f"{2 * queries} queries",
        f"{len(contention.shown)} failed conditions",
        "",
        f"{queries} consistent queries",
    )


def _items_of(backend: Backend, keys: Sequence[RequestKey]) -> Mapping[Address, Item]:
    """Return the project's tickets, and the records of the keys."""
    items: list[Item] = []
    request = of_project(backend) | {"ConsistentRead": True}
    while True:
        answer = backend.dynamodb.query(**request)
        items += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            break
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
    for start in range(0, len(keys), MAX_KEYS_PER_READ):
        some = [*map(record_id, keys[start : start + MAX_KEYS_PER_READ])]
        left = {backend.keys: {"Keys": some, "ConsistentRead": True}}
        while left:
            answer = backend.dynamodb.batch_get_item(RequestItems=left)
            items += answer["Responses"].get(backend.keys, [])
            left = answer["UnprocessedKeys"]
    return by_address(items)


def _keys(ticket: Item | None) -> set[str]:
    return {ticket["idempotency_key"]["S"]} if ticket else set()
