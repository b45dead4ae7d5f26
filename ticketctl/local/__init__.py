"""The whole system on this machine: emulator, deployment, run, up."""
