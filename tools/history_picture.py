"""Draws a conflict and a collision for `docs/proof.md`: `make pictures`.

They are those of a history of the simulation: two workers, three messages.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

from simulation.aws.errors import ServiceError
from simulation.aws.latency import Latency
from simulation.engine.choices import Choices
from simulation.history import History
from simulation.producers import Sending, request
from simulation.scenario import Scenario
from simulation.world import World

PICTURE: Final = Path(__file__).resolve().parents[1] / "docs/pictures/conflict.svg"

# Slow transactions, so that they meet.
SCENARIO: Final = Scenario(
    [Sending(0.0, request("PROJ", key)) for key in "abc"],
    batch_size=1,
    latency=Latency(0.004, 0.02, steps_a_call=2),
)
CALL, ANSWER, COMMIT = "> transact_write_items", "< transact_write_items", "commits"
INK: Final = "#1f2328"
COLOURS: Final = {"has": "#1a7f37", "conflict:": "#9a6700", "collision:": "#cf222e"}
WORKERS: Final = {"worker0": 200, "worker1": 620}
ITEMS: Final = {"PROJ-1": 330, "PROJ-2": 410, "PROJ-3": 490}
WIDTH, TOP, ROW, BAR = 800, 60, 24, 8
"""In pixels; a bar stands beside its item, on its worker's side."""


class Step(NamedTuple):
    """A row of the picture."""

    time: float
    worker: str
    call: str
    text: str
    number: int = 0
    """The number that a transaction is about."""


def history() -> History:
    """Return the first history with one conflict and one collision."""
    for seed in count(1):
        found = World(SCENARIO, Choices(seed)).run().history
        refusals = found.refusals()
        if refusals["TransactionConflict"] == refusals["ConditionalCheckFailed"] == 1:
            break
    return found


def steps(found: History) -> Iterator[Step]:
    """Yield the steps of a history that the picture shows."""
    numbers: dict[str, int] = {}
    for time, actor, call, detail in found.events:
        worker = actor.partition(".")[0]
        if call == "< query":
            last = detail["Items"][0]["number"]["N"] if detail["Items"] else "none yet"
            yield Step(time, worker, call, f"reads the last: {last}")
        elif call == CALL:
            item = detail[0]["TransactItems"][0]["Put"]["Item"]
            number = numbers[worker] = int(item["number"]["N"])
            yield Step(time, worker, call, f"writes PROJ-{number}", number)
        elif call in {ANSWER, COMMIT}:
            text = "" if call == COMMIT else _outcome(detail, numbers[worker])
            yield Step(time, worker, call, text, numbers[worker])


def _outcome(detail: Any, number: int) -> str:
    if not isinstance(detail, ServiceError):
        return f"has PROJ-{number}"
    is_conflict = "TransactionConflict" in str(detail.members["CancellationReasons"])
    return "conflict: it is held" if is_conflict else "collision: it is taken"


def drawn() -> str:
    """Return the picture as SVG."""
    rows = [*steps(history())]
    height = TOP + ROW * len(rows)
    size, font = f'viewBox="0 0 {WIDTH} {height}"', 'font-family="sans-serif"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        _text(10, 30, "start", "time, ms"),
    ]
    for name, x in {**WORKERS, **ITEMS}.items():
        lines.append(_text(x, 30, "middle", name))
        lines.append(_line(f"M{x} 40V{height - 10}", "#d0d7de", 1))
    begun: dict[str, int] = {}
    for place, row in enumerate(rows):
        lines += _row(row, TOP + ROW * place, begun)
    return "\n".join([*lines, "</svg>", ""])


def _row(row: Step, y: int, begun: dict[str, int]) -> Iterator[str]:
    """Yield a row: the time, the worker's text, and its line to the item."""
    x = WORKERS[row.worker]
    is_left = x < WIDTH / 2
    yield _text(10, y + 4, "start", f"{1000 * row.time:.0f}")
    colour = COLOURS.get(row.text.partition(" ")[0], INK)
    side, anchor = (-BAR, "end") if is_left else (BAR, "start")
    yield _text(x + side, y + 4, anchor, row.text, colour)
    if not row.number:
        return
    item = ITEMS[f"PROJ-{row.number}"] + side
    if row.call == COMMIT:
        yield f'<circle cx="{item - side}" cy="{y}" r="6" fill="{COLOURS["has"]}"/>'
        return
    yield _line(f"M{x} {y}H{item}", colour, 1)
    if row.call == CALL:
        begun[row.worker] = y
    else:  # The time that the transaction took.
        yield _line(f"M{item} {begun[row.worker]}V{y}", "#0969da", 4)


def _text(x: int, y: int, anchor: str, text: str, colour: str = INK) -> str:
    place = f'x="{x}" y="{y}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}">{text}</text>'


def _line(path: str, colour: str, width: int) -> str:
    return f'<path d="{path}" stroke="{colour}" stroke-width="{width}"/>'


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
