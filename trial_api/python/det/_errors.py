"""The exceptions of this package."""


class InvalidHP(Exception):
    """Raise this exception if a combination of hyperparameters makes no sense.

    The trial ends and is not restarted, and the search continues with other trials.
    """


class CheckpointError(Exception):
    """A checkpoint cannot be saved, does not exist or is damaged."""


class StorageUnreachable(CheckpointError):
    """The checkpoint storage does not answer, or refuses a call. Its checkpoints may be intact."""


class MasterError(Exception):
    """The master refused a request or did not answer.

    Attributes:
        status: The HTTP status; 0 if the master did not answer.
        code: The gRPC status code in the master's answer; 0 if a proxy answered.
    """

    code = 0

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class UnauthenticatedError(MasterError):
    """The credentials are missing, invalid or expired (status 401)."""


class ForbiddenError(MasterError):
    """The user or the task may not do that (status 403)."""


class NotFoundError(MasterError):
    """What the request names does not exist (status 404)."""


_BY_STATUS = {401: UnauthenticatedError, 403: ForbiddenError, 404: NotFoundError}


def make_master_error(message: str, status: int) -> MasterError:
    """Returns the exception for a refused request."""
    return _BY_STATUS.get(status, MasterError)(message, status)


class RunIsOver(MasterError):
    """The master has ended this attempt: its token is revoked and its reports are refused."""
