"""The shipped restore, after tables went back to any moment.

It is killed at any call, runs twice at once, beside seeds and workers, on stale files
and on parts; then come the commands that it printed, and every old request again.
"""

from operator import attrgetter
from typing import Final

import pytest

from operators.known_bad_restores import KNOWN_BAD, KnownBad, refuted
from operators.restored_history import play_restores

SEEDS: Final = 80

MET: Final = (
    *("damage 0", "damage 1", "damage 2", "damage 3", "damage 4"),
    *("empty projects", "exports of all that was there", "changed texts"),
    *("keys whose time is over", "records of lost tickets"),
    *("tickets lost before an export", "tickets lost for good"),
    *("files of another history", "files that are forged", "files that are wrong"),
    *("killed", "killed after a write", "a worker after a kill"),
    *("seeds meanwhile", "imports meanwhile", "marks meanwhile"),
    *("two restores", "numbers put back by another"),
    *("workers meanwhile", "refused for the worker", "fools meanwhile"),
    *("slow workers", "slow workers after a kill"),
    *("origins lost", "reserved numbers given way", "hashes given again"),
    *("numbers refused", "printed commands", "requests repeated"),
)
"""The conditions that these histories meet."""


def test_old_requests_have_their_numbers_or_a_reason_when_an_export_is_restored() -> (
    None
):
    played = play_restores(range(1, SEEDS + 1))

    assert played.violations == []
    assert [name for name in MET if not played.counts[name]] == []


@pytest.mark.parametrize("restore", KNOWN_BAD, ids=attrgetter("does"))
def test_violation_is_found_when_the_restore_lacks_a_condition(
    restore: KnownBad,
) -> None:
    """In the history that `make known-bad` names."""
    seed = refuted(KNOWN_BAD.index(restore), range(restore.seed, restore.seed + 1))

    assert seed == restore.seed
