"""Operators of `ticketctl` beside the simulation's workers, and the model's front.

`play` draws a day for each seed, and `python -m operators` plays many.
`seeded_world` plays histories in which operators seed, import, void and erase with the
shipped commands; `seeded_monitor` and `mark_monitor` accept their effects on a
sequence, and nothing else. `restored_history` brings tables back to other moments, and
plays restores; `known_bad_restores` has those that it must refute. `model_services`
gives the simulation's services to callers that do not run on its scheduler, such as
`ticketctl` in its tests.

The simulation itself knows no operator, and no tool.
"""
