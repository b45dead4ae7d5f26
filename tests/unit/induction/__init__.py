"""Tests of what the proof says, which needs no solver; `make prove` proves."""
