"""Recorded exchanges to which Resolute responds differently: the status of its response and the
reason."""
import re

# The keys are patterns of method and path.
PATHS = {
    r"PATCH /api/v1/workspaces/2": (400, "the workspace is archived, of which the recorded server knew nothing"),
    r"GET /api/v1/tasks//.*": (404, "the client asks for a task without an id"),
    r"GET /resources/.*": (200, "the recorded server had no reports; Resolute does"),
}


def expectation(step):
    """(status, reason) of an exchange with a different response, or None."""
    for pattern, other in PATHS.items():
        if re.fullmatch(pattern, f"{step['verb']} {step['path']}"):
            return other
    return None
