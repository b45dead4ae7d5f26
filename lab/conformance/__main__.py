"""`python -m conformance`: the table of differences, for `docs/proof.md`."""

import sys

from conformance.suite import markdown

if __name__ == "__main__":
    sys.stdout.write(markdown() + "\n")
