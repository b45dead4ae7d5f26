"""Pauses the garbage collector from here to the end of the function's start.

Modules, models and the descriptions of services stay for as long as the function
lives; looking through them for garbage again and again takes a seventh of a start.
"""

import gc

gc.disable()


def finish() -> None:
    """Start the collector; it need never look at what there is by now."""
    gc.freeze()
    gc.enable()
