"""A stand-in for the library that existing programs use in their tasks: our own, for tests.

It reads the files and the variables which that library reads, from the places that it knows, and
makes the calls that were recorded of it, in their order. Nothing here trains anything.
"""
from determined import core  # noqa: F401
from determined.info import InvalidHP, get_cluster_info  # noqa: F401
