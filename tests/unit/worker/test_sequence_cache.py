"""The head that an execution environment caches after its own last block."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.cleared_meanwhile import ClearedMeanwhile
from ticket_numbering.allocation.sequence_cache import MAX_PROJECTS, TTL, SequenceCache
from ticket_numbering.contract.head import Head

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
A_MICROSECOND = timedelta(microseconds=1)


def cached(number: int, project_id: str = "PROJ") -> SequenceCache:
    """Return a cache of a number whose predecessor was committed at noon."""
    cache = SequenceCache()
    cache.committed(project_id, Head(number), NOON)
    return cache


@pytest.mark.parametrize(
    ("age", "number"),
    [
        (timedelta(0), 8),
        (TTL, 8),
        (TTL + A_MICROSECOND, None),
        (timedelta(days=1), None),
        # A clock that was set back; or the number would stay young until it is where
        # it was.
        (timedelta(hours=-1), None),
    ],
)
def test_head_is_known_until_it_is_older_than_the_ttl(
    age: timedelta, number: int | None
) -> None:
    assert cached(8).head("PROJ", NOON + age) == (Head(number) if number else None)


def test_head_is_the_latest_when_blocks_follow_each_other() -> None:
    cache = cached(8)
    cache.committed("PROJ", Head(9), NOON + TTL)

    assert cache.head("PROJ", NOON + 2 * TTL) == Head(9)


def test_head_is_found_when_another_project_clears_all_meanwhile() -> None:
    cache = SequenceCache(entries=ClearedMeanwhile(PROJ=(Head(8), NOON)))

    assert cache.head("PROJ", NOON) == Head(8)


@pytest.mark.parametrize("other", ["OTHER", "proj", "PROJ-1"])
def test_head_is_unknown_when_it_is_another_projects(other: str) -> None:
    assert cached(8).head(other, NOON) is None


@pytest.mark.parametrize(("others", "number"), [(-1, 9), (0, None)])
def test_cache_starts_again_when_there_is_a_project_too_many(
    others: int, number: int | None
) -> None:
    cache = cached(8, "first")
    for place in range(MAX_PROJECTS + others):
        cache.committed(f"P{place}", Head(1), NOON)
    if number:
        cache.committed("first", Head(number), NOON)

    assert cache.head("first", NOON) == (Head(number) if number else None)
    assert len(cache.entries) == (MAX_PROJECTS if number else 1)
