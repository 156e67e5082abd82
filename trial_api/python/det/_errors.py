"""What this package raises besides the built-in exceptions."""


class InvalidHP(Exception):
    """Raise it where hyperparameters make no sense together: the trial ends, is not started again,
    and the search goes on with others.
    """


class CheckpointError(Exception):
    """A checkpoint that cannot be saved, is not there, or is damaged."""


class StorageUnreachable(CheckpointError):
    """The storage of checkpoints could not be asked, or not written to: what lies there may be
    whole.
    """


class MasterError(Exception):
    """What the master refuses. `status`: of HTTP; 0: it could not be reached."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class RunIsOver(MasterError):
    """The master has given this run up: its token is void, nothing that it says is taken."""
