"""Lightning on the cluster: `Trainer(logger=DetLogger(core_context), plugins=[DetEnvironment()])`;
the second where det.launch.torch_distributed starts the script.
"""

from det.lightning._environment import DetEnvironment
from det.lightning._logger import DetLogger

__all__ = ["DetEnvironment", "DetLogger"]
