"""A model of AWS that breaks, and the shipped worker on it.

A reader follows one history by opening the modules in this order:

1. `play` takes its seed; `scenarios.random_scenarios` draws its `scenarios.scenario`,
   and `scenarios.producers` its messages.
2. `world.world` sets it up, with its `world.services` and `world.pollers`, and runs it.
3. `aws.lambda_service` invokes the handler that `world.execution_environment` builds.
4. `aws.clients` and `aws.network` carry the handler's calls; `aws.faults` fail them.
5. `aws.dynamodb`, `aws.topics` and `aws.queues` answer; `aws.transactions` has the
   part that matters most.
6. `checks.monitor` checks the numbers at every decision, `checks.chains` the evidence,
   `checks.fates` the messages, `checks.refusals` the refusals, and `checks.promises`
   the cap of a request, and that no message had to wait for another.

`engine.scheduler` runs one task at a time; `engine.choices` decide which, by chance.
`known_bad` has algorithms that the model must catch.
`play` sums up many histories, and `checks.coverage` the conditions that they met.
`docs/proof.md` explains the conclusions; `pages` compares its figures.
"""
