"""Lightning on the cluster: `Trainer(logger=DetLogger(core_context), plugins=[DetEnvironment()])`.

DetEnvironment is for scripts that det.launch.torch_distributed starts.
"""

from det.lightning._environment import DetEnvironment
from det.lightning._logger import DetLogger

__all__ = ["DetEnvironment", "DetLogger"]
