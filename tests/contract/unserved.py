"""Recorded exchanges to which Resolute responds differently: the status of its response and the
reason."""
import re

TRIALS_ONLY = "only tasks of trials are supported"

UNSERVED = {
    # The lists of these are served, but empty.
    "LaunchCommand": (501, TRIALS_ONLY),
    "LaunchNotebook": (501, TRIALS_ONLY),
    "LaunchShell": (501, TRIALS_ONLY),
    "LaunchTensorboard": (501, TRIALS_ONLY),
    "GetCommand": (501, TRIALS_ONLY),
    "KillCommand": (501, TRIALS_ONLY),
    "SetCommandPriority": (501, TRIALS_ONLY),
}

# The keys are commands, if the response differs for only one of the commands that use the operation.
COMMANDS = {}

# The keys are patterns of method and path.
PATHS = {
    r"PATCH /api/v1/workspaces/2": (400, "the workspace is archived, of which the recorded server knew nothing"),
    r"GET /api/v1/tasks/[\da-f]{8}-.*": (404, TRIALS_ONLY),
    r"GET /api/v1/tasks//.*": (404, TRIALS_ONLY),
    r"GET /resources/.*": (200, "the recorded server had no reports; Resolute does"),
}


def expectation(step):
    """(status, reason) of an exchange with a different response, or None."""
    for pattern, other in PATHS.items():
        if re.fullmatch(pattern, f"{step['verb']} {step['path']}"):
            return other
    return COMMANDS.get(step.get("command")) or UNSERVED.get(step.get("operation"))
