"""Trains a PyTorchTrial on one or many slots; see README.md beside this file.

The names in `__all__` and in the modules lr, samplers, deepspeed and experimental are the public
API. The other subpackages are internal.
"""

from det.pytorch import lr, samplers
from det.pytorch.data.batches import data_length, to_device
from det.pytorch.data.data_loader import DataLoader, TorchData
from det.pytorch.metrics.reducers import MetricReducer, Reducer
from det.pytorch.state.load import load_trial_from_checkpoint_path
from det.pytorch.state.safetensors import read_safetensors
from det.pytorch.trainer.trainer import Trainer, init, run_trial_class
from det.pytorch.trial.callbacks import PyTorchCallback
from det.pytorch.trial.context import PyTorchTrialContext
from det.pytorch.trial.experimental_context import PyTorchExperimentalContext
from det.pytorch.trial.lr_scheduler import LRScheduler
from det.pytorch.trial.train_units import Batch, Epoch, TrainUnit
from det.pytorch.trial.trial import PyTorchTrial

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
