"""Recorded exchanges that Resolute does not answer as recorded, and why: each operation with the
status that it answers instead."""
import re

TRIALS_ONLY = "there are no tasks but those of trials"

UNSERVED = {
    # The lists of these are served, and empty.
    "LaunchCommand": (501, TRIALS_ONLY),
    "LaunchNotebook": (501, TRIALS_ONLY),
    "LaunchShell": (501, TRIALS_ONLY),
    "LaunchTensorboard": (501, TRIALS_ONLY),
    "GetCommand": (501, TRIALS_ONLY),
    "KillCommand": (501, TRIALS_ONLY),
    "SetCommandPriority": (501, TRIALS_ONLY),
}

# By the command, where one of several that share an operation is answered otherwise.
COMMANDS = {
    "det experiment set weight 1 2": (400, "a pool that schedules by priority has no weights"),
}

# By what is in the path: exchanges of operations that are served otherwise.
PATHS = {
    r"GET /api/v1/tasks/[\da-f]{8}-.*": (404, TRIALS_ONLY),
    r"GET /api/v1/tasks//.*": (404, TRIALS_ONLY),
    r"GET /resources/.*": (200, "the recording server had no reports; there are"),
}


def expectation(step):
    """(status, reason) of an exchange that is answered otherwise than recorded, or None."""
    for pattern, other in PATHS.items():
        if re.fullmatch(pattern, f"{step['verb']} {step['path']}"):
            return other
    return COMMANDS.get(step.get("command")) or UNSERVED.get(step.get("operation"))
