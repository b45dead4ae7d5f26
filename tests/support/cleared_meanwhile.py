"""A dict that threads share."""

from typing import Any


class ClearedMeanwhile(dict[str, Any]):
    """Another thread clears it after each look."""

    def __contains__(self, key: object) -> bool:
        found = super().__contains__(key)
        self.clear()
        return found

    def get(self, key: str, default: Any = None) -> Any:
        """Look, and be cleared."""
        found = super().get(key, default)
        self.clear()
        return found
