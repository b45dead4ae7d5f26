"""A model of AWS that breaks, and the real worker on it.

A reader follows a history by opening the modules in this order: `scenario` says what
it is about, `world` sets the scene and plays it, `lambda_service` invokes the real
handler that `site` builds, `clients` and `network` carry its calls, `faults` spoil
them, `dynamodb`, `topics` and `queues` answer, `monitor` checks every promise at
every instant. `scheduler` decides who is next; `choices` and `explore` decide how it
decides; `walks` check what was explored. `wrong_ways` are caught; `docs/proof.md`
says what all of this proves.
"""
