"""A model of AWS that breaks, and the shipped worker on it.

A reader follows one history by opening the modules in this order:

1. `play` takes its seed; `random_scenarios` draws its `scenario`, and `producers` its
   messages.
2. `world` sets it up, with its `services` and `pollers`, and runs it.
3. `aws.lambda_service` polls and invokes the shipped handler, which
   `execution_environment` builds.
4. `aws.clients` and `aws.network` carry the handler's calls; `aws.faults` fail them.
5. `aws.dynamodb`, `aws.topics` and `aws.queues` answer; `aws.transactions` has the
   part that matters most.
6. `monitor` checks the numbers at every decision, `chains` the evidence, `fates` the
   messages, and `refusals` the refusals; `checks` has that of a request's cap, and,
   after every invocation, that no message had to wait for another.

`engine.scheduler` runs one task at a time; `engine.choices` decide which, by chance.
`exploration.search` decides exhaustively for the `exploration.configurations`, and
`exploration.walks` check it. `known_bad` has the algorithms that the model must catch.
`play` sums up many histories, and `coverage` the conditions that they met; `deliveries`
follows the messages for it.
`docs/proof.md` says what all of this proves.
"""
