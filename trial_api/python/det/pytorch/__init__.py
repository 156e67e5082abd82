"""Training of a PyTorchTrial; see README.md beside this."""

from det.pytorch import lr, samplers
from det.pytorch._callback import PyTorchCallback
from det.pytorch._context import PyTorchTrialContext
from det.pytorch._data import DataLoader, TorchData, data_length, to_device
from det.pytorch._experimental import PyTorchExperimentalContext
from det.pytorch._load import load_trial_from_checkpoint_path
from det.pytorch._lr_scheduler import LRScheduler
from det.pytorch._reducers import MetricReducer, Reducer
from det.pytorch._safetensors import read_safetensors
from det.pytorch._trainer import Trainer, init, run_trial_class
from det.pytorch._trial import PyTorchTrial
from det.pytorch._units import Batch, Epoch, TrainUnit

__all__ = [
    "Batch",
    "DataLoader",
    "Epoch",
    "LRScheduler",
    "MetricReducer",
    "PyTorchCallback",
    "PyTorchExperimentalContext",
    "PyTorchTrial",
    "PyTorchTrialContext",
    "Reducer",
    "TorchData",
    "TrainUnit",
    "Trainer",
    "data_length",
    "init",
    "load_trial_from_checkpoint_path",
    "lr",
    "read_safetensors",
    "run_trial_class",
    "samplers",
    "to_device",
]
