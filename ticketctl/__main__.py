"""The command line: `ticketctl`, or `python -m ticketctl`."""

from ticketctl.cli.app import main

if __name__ == "__main__":
    main()
