"""The worker and four other ways to number tickets, measured on the simulation's model.

`PYTHONPATH=src:lab python -m benchmarks` measures and reports: `workloads` has the
arrivals, `contenders` the algorithms, `model_run` plays one on the other and `counting`
counts; `cells` are measured, and `claims`, `costs`, `report` and `plots` show the
figures.
`PYTHONPATH=lab python -m benchmarks.function` measures the function's start, time and
memory instead, by a `function_probe` in fresh interpreters.
"""
