"""The worker and four other ways to number tickets, measured on the simulation's model.

`make bench` measures and reports: `workloads` says what arrives, `contenders`
who numbers it, `model_run` plays one on the other and `counting` counts; `cells` are
measured, and `claims`, `costs`, `report` and `plots` show the figures.
`make bench-function` measures the function's start, time and memory instead.
"""
