"""Models of the SDK. det.experimental.client has them, too."""

from det.experimental.client import Model, ModelOrderBy, ModelSortBy, ModelVersion

__all__ = ["Model", "ModelOrderBy", "ModelSortBy", "ModelVersion"]
