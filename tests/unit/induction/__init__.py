"""Tests of the proof's texts, without a solver; `make prove` proves."""
