"""The model of the algorithm in Promela, explored by Spin as `make spec` does."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

needs_spin = pytest.mark.skipif(
    shutil.which("spin") is None or shutil.which("gcc") is None,
    reason="Spin explores the model: apt-get install spin gcc",
)

GAP_WITHIN_SEED = "no number in a finished seed's gap"
NOT_AFTER_PREDECESSOR = "a number follows its predecessor"
TWO_KEYS = "one key a number"
TWO_NUMBERS = "one number a key"

SEED = ("-DDELIVERIES=2", "-DSEED=4")
IMPORT = ("-DDELIVERIES=2", "-DSEED=3", "-DIMPORT")


def check(*switches: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the script behind `make spec`."""
    environment = None if path is None else {"PATH": path}
    command = ["/bin/sh", "lab/spec/check", *switches]
    return subprocess.run(  # noqa: S603 - no shell, and no argument from outside.
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def explored() -> subprocess.CompletedProcess[str]:
    """Explore the worlds of `make spec`: without a seed, and with one."""
    return check()


@needs_spin
class TestAlgorithm:
    """Every interleaving of two workers keeps the promises."""

    def test_no_promise_is_broken_when_two_workers_interleave(
        self, explored: subprocess.CompletedProcess[str]
    ) -> None:
        """In as many states as a model has that leaves nothing out."""
        states = re.findall(r"(\d+) states, no error", explored.stdout)

        assert explored.returncode == 0, explored.stderr
        assert len(states) == 2
        assert all(int(count) > 100_000 for count in states)

    def test_every_line_is_reached_when_both_worlds_are_explored(
        self, explored: subprocess.CompletedProcess[str]
    ) -> None:
        """A rule that no state needs would not be checked."""
        worlds = re.split(r"states, no error", explored.stdout)[1:]
        missed = [set(re.findall("never reached: (.*)", world)) for world in worlds]

        assert set.intersection(*missed) == set()


@needs_spin
class TestKnownBadAlgorithms:
    """Each is refuted, and by the promise that it breaks."""

    @pytest.mark.parametrize(
        ("algorithm", "world", "promise"),
        [
            ("BUMP_ON_CONFLICT", (), NOT_AFTER_PREDECESSOR),
            ("BUMP_BY_LENGTH", (), NOT_AFTER_PREDECESSOR),
            ("CACHE_TRIED", (), NOT_AFTER_PREDECESSOR),
            ("KEY_UNCONDITIONAL", (), TWO_NUMBERS),
            ("KEY_LEFT_OUT", (), TWO_NUMBERS),
            ("SEED_WITHOUT_B", SEED, GAP_WITHIN_SEED),
            ("COUNT_RESERVED", SEED, NOT_AFTER_PREDECESSOR),
            ("COUNT_IMPORTED", IMPORT, NOT_AFTER_PREDECESSOR),
            ("IMPORT_OVERWRITES", IMPORT, TWO_KEYS),
            ("IMPORT_TAKES_KEY", IMPORT, TWO_NUMBERS),
        ],
    )
    def test_algorithm_is_refuted_when_it_is_known_to_be_wrong(
        self, algorithm: str, world: tuple[str, ...], promise: str
    ) -> None:
        """The model differs in nothing else."""
        explored = check(*world, f"-DWRONG={algorithm}")

        assert explored.returncode == 1
        assert "refuted: assert" in explored.stderr
        assert f"/* {promise} */" in explored.stderr


class TestCheck:
    """What was not explored does not pass."""

    def test_check_fails_in_one_line_when_spin_is_missing(self, tmp_path: Path) -> None:
        """With a status of its own."""
        explored = check(path=str(tmp_path))

        assert explored.returncode == 2
        assert explored.stdout == ""
        assert explored.stderr == "spec: spin is missing: apt-get install spin gcc\n"

    @needs_spin
    @pytest.mark.parametrize("switch", ["-DWRONG=NO_SUCH_ALGORITHM(", "-DWORKERS=2"])
    def test_check_fails_when_the_model_cannot_be_compiled(self, switch: str) -> None:
        """A typing error is no proof."""
        assert check(switch).returncode == 2
