"""What the contenders are given to do, and which runs there are."""

from collections import Counter
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any

import pytest

from benchmarks.cells import (
    EMULATOR,
    MODEL,
    WORKERS,
    Cell,
    all_cells,
    full_cells,
    limits_of,
    target_cells,
)
from benchmarks.contenders import CONTENDERS, DESCRIPTIONS, OURS, TEXTBOOK
from benchmarks.emulator_run import MAX_WORKERS
from benchmarks.workload import Workload, bodies
from ticket_numbering.messages import CreateTicket


def messages(count: int, seed: int = 1, **workload: Any) -> list[tuple[str, str, str]]:
    """Return so many messages of a workload."""
    random = Random(seed)  # noqa: S311 - not for secrets.
    return [*islice(bodies(Workload(**workload), random), count)]


def projects(count: int, **workload: Any) -> Counter[str]:
    """Return how many of so many messages each project gets."""
    return Counter(project for project, _, _ in messages(count, **workload))


class TestMessages:
    """Valid create-ticket messages, without end."""

    def test_bodies_are_valid_when_parsed(self) -> None:
        """They say what stands beside them."""
        for project, key, body in messages(50, projects=10):
            assert CreateTicket.parse(body).key == (project, key)

    def test_keys_are_distinct_when_many_are_sent(self) -> None:
        """Nothing is a replay that is not meant to be one."""
        assert len({key for _, key, _ in messages(5_000, projects=3)}) == 5_000

    def test_messages_are_the_same_when_the_seed_is(self) -> None:
        """And others when it is not."""
        first = messages(100, seed=1, projects=10)
        assert messages(100, seed=1, projects=10) == first
        assert messages(100, seed=2, projects=10) != first

    def test_one_project_gets_all_when_there_is_one(self) -> None:
        """The default is the hot project."""
        assert projects(100) == {"P1": 100}

    def test_projects_get_the_same_when_nothing_is_skewed(self) -> None:
        """As far as chance has it."""
        found = projects(10_000, projects=10)
        assert len(found) == 10
        assert all(900 < each < 1_100 for each in found.values())

    def test_first_project_gets_the_most_when_the_skew_is_zipf_s(self) -> None:
        """The second gets half of it, the tenth a tenth."""
        found = projects(30_000, projects=10, is_zipf=True)
        assert [name for name, _ in found.most_common(3)] == ["P1", "P2", "P3"]
        assert found["P1"] / found["P2"] == pytest.approx(2, rel=0.1)
        assert found["P1"] / found["P10"] == pytest.approx(10, rel=0.1)

    def test_batch_has_each_project_once_when_they_come_in_turn(self) -> None:
        """Wherever the batch begins."""
        found = [
            project for project, _, _ in messages(35, projects=10, is_in_turn=True)
        ]
        for start in range(25):
            assert len(set(found[start : start + 10])) == 10


@pytest.mark.parametrize(
    ("workload", "title"),
    [
        (Workload(), "one project, batch 10, N = 10"),
        (Workload(5, 50, 1_000), "1000 projects, batch 50, N = 5"),
        (Workload(projects=10, is_zipf=True), "10 projects (Zipf), batch 10, N = 10"),
    ],
)
def test_title_names_the_workload_when_shown(workload: Workload, title: str) -> None:
    """In a few words."""
    assert workload.title == title


class TestCells:
    """What is measured, each once."""

    def test_every_contender_has_every_crowd_when_none_is_chosen(self) -> None:
        """They are compared on the same workloads."""
        found = {
            (cell.contender, cell.workload.workers)
            for cell in all_cells()
            if cell.group == "workers"
        }
        assert found == {(name, count) for name in CONTENDERS for count in WORKERS}

    @pytest.mark.parametrize("full", [False, True], ids=["in part", "in full"])
    def test_cells_come_once_when_listed(self, *, full: bool) -> None:
        """And none is left out of the full list."""
        cells = all_cells(full=full)
        assert len(cells) == len(set(cells))
        assert {each.contender for each in cells} == {*CONTENDERS}
        assert {*all_cells()} <= {*all_cells(full=True)}

    def test_full_list_has_the_product_when_asked_for(self) -> None:
        """Projects, batch sizes, crowds and shares."""
        cells = all_cells([TEXTBOOK], full=True)
        product = {*full_cells([TEXTBOOK])}
        assert len(product) == 5 * 3 * 7 * 3
        assert product <= {*cells}
        assert len({*cells}) == len(cells)

    def test_targets_cells_are_left_out_when_ours_is_not_chosen(self) -> None:
        """The targets are ours."""
        found = {each.contender for each in all_cells([TEXTBOOK])}
        assert found == {TEXTBOOK}
        assert {each.contender for each in target_cells()} == {OURS}
        assert {*target_cells()} <= {*all_cells([OURS])}

    def test_both_places_are_measured_when_a_contender_is_chosen(self) -> None:
        """The emulator has room for few workers."""
        cells = all_cells([OURS], full=True)
        assert {each.place for each in cells} == {MODEL, EMULATOR}
        crowds = [each.workload.workers for each in cells if each.place == EMULATOR]
        assert max(crowds) <= MAX_WORKERS

    def test_ours_warms_up_until_all_workers_are_there_when_many_come(self) -> None:
        """What is measured is the crowd, not its arrival."""
        for count in WORKERS:
            limits = limits_of(OURS, count)
            assert limits.workers_a_second is not None
            assert limits.warm_up > (count - 5) / limits.workers_a_second

    def test_cell_is_told_from_another_when_anything_differs(self) -> None:
        """By its JSON as well."""
        cell = Cell("a", OURS, Workload())
        others = [
            replace(cell, contender=TEXTBOOK),
            replace(cell, workload=Workload(redelivered=0.5)),
            replace(cell, limits=limits_of(OURS, 5)),
            replace(cell, place=EMULATOR),
            replace(cell, messages=7),
            replace(cell, seed=2),
        ]
        assert len({str(each.to_json()) for each in [cell, *others]}) == 7


def test_every_contender_is_described_when_listed() -> None:
    """The document has a line for each."""
    assert {*DESCRIPTIONS} == {*CONTENDERS}
