"""Compares figures of a page with computed ones."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def unsaid(page: str, *figures: str) -> list[str]:
    """Return a line for each figure that a page lacks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [f"not in {page}: {figure}" for figure in figures if figure not in text]
