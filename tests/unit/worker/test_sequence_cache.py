"""The next number that an execution environment caches after its own last block."""

from datetime import UTC, datetime, timedelta

import pytest

from ticket_numbering.sequence_cache import MAX_PROJECTS, TTL, SequenceCache

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
A_MICROSECOND = timedelta(microseconds=1)


def cached(number: int, project_id: str = "PROJ") -> SequenceCache:
    """Return a cache of a number whose predecessor was committed at noon."""
    cache = SequenceCache()
    cache.committed(project_id, number, NOON)
    return cache


class TestNextNumber:
    """The number after our own last block is known for the TTL."""

    def test_number_is_unknown_when_nothing_was_committed(self) -> None:
        assert SequenceCache().next_number("PROJ", NOON) is None

    @pytest.mark.parametrize("age", [timedelta(0), TTL / 2, TTL])
    def test_number_is_known_when_it_is_no_older_than_the_ttl(
        self, age: timedelta
    ) -> None:
        assert cached(8).next_number("PROJ", NOON + age) == 8

    @pytest.mark.parametrize("age", [TTL + A_MICROSECOND, timedelta(days=1)])
    def test_number_is_unknown_when_it_is_older(self, age: timedelta) -> None:
        assert cached(8).next_number("PROJ", NOON + age) is None

    def test_number_is_unknown_when_the_clock_was_set_back(self) -> None:
        """Or it would stay young until the clock is where it was."""
        assert cached(8).next_number("PROJ", NOON - timedelta(hours=1)) is None

    def test_number_is_the_latest_when_blocks_follow_each_other(self) -> None:
        cache = cached(8)
        cache.committed("PROJ", 9, NOON + TTL)

        assert cache.next_number("PROJ", NOON + 2 * TTL) == 9

    @pytest.mark.parametrize("other", ["OTHER", "proj", "PROJ-1"])
    def test_number_is_unknown_when_it_is_another_projects(self, other: str) -> None:
        assert cached(8).next_number(other, NOON) is None


class TestBound:
    """An execution environment lives for hours and meets any number of projects."""

    def test_number_is_known_when_the_cache_is_just_full(self) -> None:
        cache = cached(8, "first")
        for number in range(MAX_PROJECTS - 1):
            cache.committed(f"P{number}", 2, NOON)
        cache.committed("first", 9, NOON)

        assert cache.next_number("first", NOON) == 9
        assert len(cache.entries) == MAX_PROJECTS

    def test_cache_starts_again_when_there_is_a_project_too_many(self) -> None:
        cache = cached(8, "first")
        for number in range(MAX_PROJECTS):
            cache.committed(f"P{number}", 2, NOON)

        assert cache.next_number("first", NOON) is None
        assert len(cache.entries) == 1
