"""The plots: there when something was measured, and the same each time."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib import image

from benchmarks.cells import limits_of
from benchmarks.contenders import CONTENDERS, OURS, TEXTBOOK
from benchmarks.plots import FIFO, GROUND, STYLES, draw, names
from benchmarks.tally import percentiles
from tests.support.bench_builders import cell, figures, measurement, results_of

NAMES = ("requests", "write-units", "throughput", "latency")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Draw all plots once."""
    directory = tmp_path_factory.mktemp("plots")
    return draw(results_of(directory, figures()), directory / "out")


def text(files: list[Path], name: str) -> str:
    """Return a plot's SVG."""
    [file] = [each for each in files if each.name == f"{name}.svg"]
    return file.read_text(encoding="utf-8")


def test_four_plots_are_written_in_both_formats_when_all_is_measured(
    drawn: list[Path],
) -> None:
    """And every file is one."""
    wanted = {f"{name}.{kind}" for name in NAMES for kind in ("png", "svg")}
    assert {each.name for each in drawn} == wanted
    assert names(drawn) == ", ".join(sorted(wanted))
    assert all(each.stat().st_size > 1_000 for each in drawn)


def test_nothing_is_drawn_when_nothing_is_measured(tmp_path: Path) -> None:
    """Not even a directory."""
    assert draw(results_of(tmp_path, {}), tmp_path / "out") == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("contender", "waits", "plots"),
    [(OURS, 0.02, 4), (TEXTBOOK, 0.02, 4), (OURS, None, 3), ("add-counter", 0.02, 3)],
    ids=["ours", "textbook", "no waits", "not in the plot of latency"],
)
def test_plot_is_left_out_when_nothing_was_measured_for_it(
    tmp_path: Path, contender: str, waits: float | None, plots: int
) -> None:
    """A single figure is enough for the others."""
    only = cell(contender, 5, limits=limits_of(contender, 5))
    figure = measurement(waits=percentiles([waits] if waits else []))

    found = draw(results_of(tmp_path, {only: figure}), tmp_path)

    assert len(found) == 2 * plots
    assert all(each.exists() for each in found)


def test_svg_is_the_same_byte_by_byte_when_the_figures_are(
    tmp_path: Path, drawn: list[Path]
) -> None:
    """So that a document changes only when its figures do."""
    again = draw(results_of(tmp_path, figures()), tmp_path)
    for name in NAMES:
        assert text(again, name) == text(drawn, name)


def test_ground_is_opaque_and_white_when_a_page_is_dark(drawn: list[Path]) -> None:
    """Neither a light nor a dark page shines through."""
    for file in drawn:
        if file.suffix == ".png":
            pixels = image.imread(file)
            corners = pixels[[0, 0, -1, -1], [0, -1, 0, -1]]
            assert np.all(corners == 1.0)
            assert np.all(pixels[..., 3:] == 1.0)
        else:
            ground = r'id="patch_1">\s*<path [^>]*style="([^"]*)"'
            [style] = re.findall(ground, file.read_text(encoding="utf-8"))
            assert f"fill: {GROUND.lower()}" in style
            assert "opacity" not in style


def test_contenders_are_told_apart_when_colours_are_not_seen() -> None:
    """No two share a colour or a mark."""
    assert {*STYLES} == {*CONTENDERS, FIFO}
    for key in ("color", "marker"):
        assert len({style[key] for style in STYLES.values()}) == len(STYLES)


def test_svg_is_well_formed_when_written(drawn: list[Path]) -> None:
    """And says nothing of when it was drawn."""
    for name in NAMES:
        content = text(drawn, name)
        assert ET.fromstring(content).tag.endswith("svg")  # noqa: S314 - our own.
        assert "<dc:date>" not in content
