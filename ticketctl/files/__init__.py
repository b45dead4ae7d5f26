"""Files that people give: requests as JSONL or CSV."""

from typing import Literal

Format = Literal["jsonl", "csv"]
