"""What may still change: the SDK, `det.experimental.client`, whose classes are here, too."""

from det.experimental import client
from det.experimental.client import Checkpoint, Determined, Experiment, Model, ModelVersion, Trial

__all__ = [
    "Checkpoint",
    "Determined",
    "Experiment",
    "Model",
    "ModelVersion",
    "Trial",
    "client",
]
