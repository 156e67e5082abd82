"""Names of the files that profilers of several ranks store in one directory."""

from __future__ import annotations

import pathlib
import re

# PyTorch's are WORKER.TIME.pt.trace.json, TensorFlow's HOST.xplane.pb and others.
_PROFILES = (
    re.compile(r"(.+?)((?:\.\d+)?\.pt\.trace\.json(?:\.gz)?)"),
    re.compile(
        r"(.+)(\.(?:input_pipeline\.pb|memory_profile\.json\.gz|tensorflow_stats\.pb|xplane\.pb"
        r"|kernel_stats\.pb|overview_page\.pb|trace\.json(?:\.gz)?))"
    ),
)


def add_rank(path: pathlib.Path, rank: int) -> pathlib.Path:
    """Adds a rank to the name of a profiler's file: host.xplane.pb becomes host#3.xplane.pb.

    Returns:
        The path; unchanged if the file is not a profiler's.
    """
    for pattern in _PROFILES:
        match = pattern.fullmatch(path.name)
        if match:
            return path.with_name(f"{match[1]}#{rank}{match[2]}")
    return path


def is_not_event_file(path: pathlib.Path) -> bool:
    """Returns whether a file is not an event file, of which a run has one writer, the chief."""
    return "tfevents" not in path.name
