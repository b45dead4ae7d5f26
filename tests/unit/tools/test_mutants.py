"""A survivor is explained only by an entry for the very same change."""

import json
from pathlib import Path

import pytest

from tools.mutants import change, entries, is_wording, survivors, without_tests

ENTRY = """\
--- src/ticket_numbering/worker/worker.py
-    return False
+    return True
"""
SHOWN = ENTRY.replace(
    "\n-",
    """
+++ src/ticket_numbering/worker/worker.py
@@ -1,3 +1,3 @@
 def is_done(self) -> bool:
-""",
)


@pytest.mark.parametrize(
    ("was", "is_now"),
    [("worker.py", "handler.py"), ("False", "None"), ("True", "1")],
)
def test_entry_explains_the_very_same_change_alone(was: str, is_now: str) -> None:
    explained = entries(f"# The title of this file.\n\n# Why it may stay.\n{ENTRY}")

    assert change(SHOWN) in explained
    assert change(SHOWN.replace(was, is_now)) not in explained


def test_survivors_are_all_that_neither_types_nor_the_time_limit_refused() -> None:
    results = "a: survived\n b: caught by type check\n c: timeout\n d: no tests"

    assert [*survivors(results)] == ["a", "d"]


class TestWording:
    """Mutants that no test is asked for."""

    @pytest.mark.parametrize("text", ["XXno keyXX", "NO KEY"])
    def test_mutant_is_wording_when_only_letters_of_a_sentence_changed(
        self, text: str
    ) -> None:
        assert is_wording(_changed('print("No key")', f'print("{text}")'))

    @pytest.mark.parametrize(
        ("line", "mutated"),
        [
            ('print("no key")', 'print("")'),
            ('row["key"]', 'row["KEY"]'),
            ('" AND ".join(rules)', '" and ".join(rules)'),
            ('"if #status = :new"', '"IF #STATUS = :NEW"'),
            ('row["key"] = "no key"', 'row["XXkeyXX"] = "no key"'),
            ("return True", "return False"),
            ('print("no key", count + 1)', 'print("no key", count - 1)'),
        ],
    )
    def test_mutant_is_no_wording_when_a_program_may_read_what_changed(
        self, line: str, mutated: str
    ) -> None:
        assert not is_wording(_changed(line, mutated))


def _changed(line: str, mutated: str) -> str:
    return f"--- ticketctl/audit/report.py\n-    {line}\n+    {mutated}"


def test_mutant_is_judged_by_no_test_when_pytest_could_not_run_them(
    tmp_path: Path,
) -> None:
    statuses = {"refused": 1, "survived": 0, "too slow": -24, "not run": 255}
    results = tmp_path / "src" / "worker.py.meta"
    results.parent.mkdir()
    results.write_text(json.dumps({"exit_code_by_key": statuses}))

    assert without_tests(tmp_path) == ["not run"]
