"""Tests of the core that need more than the core are left out where that is not installed."""

from importlib.util import find_spec

NEEDS = {
    "simulate/test_virtual_fleet.py": "lockgate_testbed",
}
collect_ignore = [file for file, package in NEEDS.items() if find_spec(package) is None]
