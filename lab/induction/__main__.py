"""`python -m induction`: prove every obligation, and refute every known-bad rule."""

import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from induction.axioms import AXIOMS, OUT, source
from induction.proving import PROVED, controls, history, obligations, path
from induction.rules import CONDITIONS, PATHS, RULES, witness
from induction.steps import ASKED, STEPS, Rules

PAGE: Final = Path(__file__).parents[2] / "docs" / "proof.md"


def main() -> Iterator[str]:
    """Print the axioms, the sums and the histories; yield the reds."""
    for number, axiom in enumerate(AXIOMS, 1):
        print(f"axiom {number}, {source(axiom)}: {axiom.text} ({axiom.used})")
    for text in OUT:
        print(f"not in the model: {text}")
    yield from _prove()
    yield from _refute()


def _prove() -> Iterator[str]:
    every = [*obligations()]
    proved: Counter[str] = Counter()
    for obligation in every:
        result = obligation.result()
        proved[obligation.step] += result == PROVED
        if result != PROVED:
            yield f"not proved, {result}: {obligation.step}: {obligation.name}"
    for step, count in proved.items():
        print(f"{step}: {count} obligations proved")
    left_alone = sum(obligation.is_known for obligation in every)
    yield from _said(
        f"{proved.total()} obligations proved, "
        f"{left_alone} of them about what a step leaves alone"
    )
    must_fail = controls(every)
    failed = [
        obligation.step for obligation in must_fail if obligation.result() == PROVED
    ]
    yield from (f"the known formulas contradict each other: {step}" for step in failed)
    yield from _said(f"{len(must_fail)} controls, {len(failed) or 'none'} proved")
    promised = {rule.breaks.name for rule in RULES}
    for name in sorted(promised - {obligation.name for obligation in every}):
        yield f"no obligation: {name}"


def _refute() -> Iterator[str]:
    taken = set()
    for schedule, shown in PATHS.items():
        if path(schedule, Rules(), witness(shown)):
            taken.update(schedule.split())
        else:
            yield f"no path: {schedule}"
    for step in STEPS.keys() - taken:
        yield f"on no path: {step}"
    for rule in (*RULES, *CONDITIONS):
        lines = history(rule)
        if lines is None:
            yield f"not refuted: {rule.name}"
            continue
        print(f"without {rule.name!r}, {rule.breaks.name!r} is broken:")
        for line in lines:
            print(f"    {line}")
    for name in sorted(ASKED ^ {rule.name for rule in (*RULES, *CONDITIONS)}):
        yield f"in the model alone, or not in it: {name}"
    print(f"each step of {len(STEPS)} taken on a path; {len(PATHS)} paths")
    yield from _said(
        f"{len(RULES)} known-bad rules and {len(CONDITIONS)} conditions refuted"
    )


def _said(figures: str) -> Iterator[str]:
    """Print figures, which the page has too."""
    print(figures)
    if f" {figures}" not in PAGE.read_text(encoding="utf-8"):
        yield f"not in docs/proof.md: {figures}"


if __name__ == "__main__":
    # `| head` ends it quietly, and never with status 0.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit("\n".join(main()) or None)
