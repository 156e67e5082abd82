"""The exceptions of det under the names that existing scripts catch."""

from det._errors import ForbiddenError as ForbiddenException
from det._errors import MasterError as APIException
from det._errors import NotFoundError as NotFoundException
from det._errors import UnauthenticatedError as UnauthenticatedException

BadRequestException = APIException
BadResponseException = APIException
MasterNotFoundException = APIException
DeleteFailedException = APIException
EmptyResultException = APIException
InvalidCredentialsException = UnauthenticatedException

__all__ = [
    "APIException",
    "BadRequestException",
    "BadResponseException",
    "DeleteFailedException",
    "EmptyResultException",
    "ForbiddenException",
    "InvalidCredentialsException",
    "MasterNotFoundException",
    "NotFoundException",
    "UnauthenticatedException",
]
