"""The `verify` command: sends messages through a deployed stack and judges the result.

- `sample.py`        the messages, good and bad
- `message_file.py`  messages of one's own, for `run`
- `run.py`           sends, follows what comes of it, and decides when that is all
- `dead_letters.py`  takes the run's own dead letters, and no others
- `projects.py`      reads the tickets and the key records of the run's projects
- `verdict.py`       compares all of it with the promise
- `report.py`        prints it
"""
