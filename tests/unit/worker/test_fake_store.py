"""The fake ticket store answers as the adapter does on the laboratory's DynamoDB.

Its own conformance suite shows that the laboratory's DynamoDB is like AWS's.
"""

from typing import Any, Final

from hypothesis import event, given
from hypothesis import strategies as st

from conformance.backends import model_backend
from tests.support.builders import block_of, create_ticket
from tests.support.fakes import FakeTicketStore
from ticket_numbering.allocation.block import MAX_BLOCK_REQUESTS
from ticket_numbering.allocation.store import BlockInvalid
from ticket_numbering.contract.dynamodb_items import ticket_id

TIMES: Final = ("2026-11-20T18:30:00.123Z", "2026-11-21T06:00:00.000Z")

REQUESTS: Final = {
    project: [create_ticket(project, f"key-{n // 2}", title=f"{n}") for n in range(10)]
    for project in ("P", "P-1", "p")
}
"""Projects and keys that resemble each other; two requests of each key."""

MANY: Final = [create_ticket("P", f"many-{n}") for n in range(MAX_BLOCK_REQUESTS + 1)]
KEYS: Final = sorted({request.key for own in REQUESTS.values() for request in own})

BLOCKS: Final = st.tuples(
    st.one_of(
        *(
            st.lists(st.sampled_from(own), min_size=1, max_size=4)
            for own in REQUESTS.values()
        ),
        st.sampled_from([MANY, MANY[1:]]),
    ),
    st.integers(-3, 2),
    st.sampled_from(TIMES),
)
"""The requests of a project, the first number's distance behind the head, the time."""


def shown(answer: object) -> object:
    """Return an answer of which a refusal's words do not count."""
    return BlockInvalid if isinstance(answer, BlockInvalid) else answer


@given(st.lists(BLOCKS, min_size=1, max_size=6), st.sets(st.integers(1, 5)))
def test_fake_store_answers_as_the_adapter_whatever_is_written(
    writes: list[Any], external: set[int]
) -> None:
    fake, backend = FakeTicketStore(), model_backend()
    store = backend.store()
    fake.external["P"] |= external
    for number in external:
        origin = {"origin": {"S": "elsewhere"}}
        backend.dynamodb.put(ticket_id("P", number) | origin)

    for requests, distance, time in writes:
        head = store.head(requests[0].project_id)
        number = max(1, head.number + 1 + distance)
        block = block_of(requests, number, time, previous=head.chain)
        answer = shown(store.write_block(block))
        event(answer.__class__.__name__)

        assert shown(fake.write_block(block)) == answer
        for name in REQUESTS:
            assert fake.head(name) == store.head(name)
        records = store.read_keys(KEYS)
        assert fake.read_keys(KEYS) == records
        assert store.read_keys_in_transaction(KEYS) == records
        assert fake.read_keys_in_transaction(KEYS) == records
