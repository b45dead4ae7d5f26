"""`python -m induction`: prove every obligation, and refute every known-bad rule."""

from collections import Counter
from collections.abc import Iterator

from induction.axioms import AXIOMS, OUT, source
from induction.ending import end_after
from induction.proving import history, obligations, path
from induction.rules import PATHS, RULES
from induction.steps import STEPS, Rules


def main() -> Iterator[str]:
    """Print the axioms, the sums and the histories; yield what is red."""
    for number, axiom in enumerate(AXIOMS, 1):
        print(f"axiom {number}, {source(axiom)}: {axiom.text} ({axiom.used})")
    for text in OUT:
        print(f"not in the model: {text}")
    proved: Counter[str] = Counter()
    left_alone = 0
    for obligation in obligations():
        if obligation.is_proved():
            proved[obligation.step] += 1
            left_alone += obligation.is_known
        else:
            yield f"not proved: {obligation.step}: {obligation.name}"
    for step, count in proved.items():
        print(f"{step}: {count} obligations proved")
    print(
        f"together: {proved.total()} obligations proved, "
        f"{left_alone} of them about what a step leaves alone"
    )
    taken = {
        step
        for schedule in PATHS
        if path(schedule, Rules())
        for step in schedule.split()
    }
    for step in STEPS.keys() - taken:
        yield f"on no path: {step}"
    for rule in RULES:
        lines = history(rule)
        if lines is None:
            yield f"not refuted: {rule.name}"
            continue
        print(f"without {rule.name!r}, {rule.breaks.name!r} is broken:")
        for line in lines:
            print(f"    {line}")
    print(f"{len(RULES)} rules refuted, each step of {len(STEPS)} taken on a path")


if __name__ == "__main__":
    end_after(main)
