"""Tests of the worker on the model of AWS, and of the model itself."""
