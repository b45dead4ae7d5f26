"""The shipped restore, after tables went back to any moment.

It is killed at any call, runs twice at once, beside seeds and workers, on stale files
and on parts; then come the commands that it printed, and every old request again.
"""

from typing import Final

import pytest

from operators.known_bad_restores import KNOWN_BAD
from operators.restored_history import play_restores
from simulation.checks.violations import Violation

SEEDS: Final = 40

MET: Final = (
    *("damage 0", "damage 1", "damage 2", "damage 3"),
    *("killed", "seeds meanwhile", "printed commands", "requests repeated"),
)
"""What so many histories meet."""


def test_old_requests_have_their_numbers_or_a_reason_when_an_export_is_restored() -> (
    None
):
    met = play_restores(range(1, SEEDS + 1))

    assert [name for name in MET if not met[name]] == []


@pytest.mark.parametrize("name", KNOWN_BAD)
def test_violation_is_found_when_the_restore_lacks_a_condition(name: str) -> None:
    make, check = KNOWN_BAD[name]

    with pytest.raises(Violation) as broken:
        play_restores(range(1, SEEDS + 1), make)

    assert broken.value.check is check, broken.value
