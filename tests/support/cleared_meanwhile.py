"""A dict that threads share."""

from typing import Any


class ClearedMeanwhile(dict[str, Any]):
    """Another thread clears it after each look."""

    def __contains__(self, key: object) -> bool:
        is_there = super().__contains__(key)
        self.clear()
        return is_there

    def get(self, key: str, default: Any = None) -> Any:
        """Look, and be cleared."""
        value = super().get(key, default)
        self.clear()
        return value
