"""A replacement for the `determined` library in tests.

It reads the same files and variables as that library, and makes the recorded calls in the same
order, but does not train anything.
"""
from determined import core  # noqa: F401
from determined.info import InvalidHP, get_cluster_info  # noqa: F401
