"""Trains a DeepSpeedTrial, whose engines are DeepSpeed's; see README.md beside this file."""

from det.pytorch.deepspeed._config import get_ds_config_from_hparams, overwrite_deepspeed_config
from det.pytorch.deepspeed._context import DeepSpeedTrialContext
from det.pytorch.deepspeed._mpu import (
    ModelParallelUnit,
    make_data_parallel_mpu,
    make_deepspeed_mpu,
)
from det.pytorch.deepspeed._trainer import Trainer, init, run_trial_class
from det.pytorch.deepspeed._trial import DeepSpeedTrial

__all__ = [
    "DeepSpeedTrial",
    "DeepSpeedTrialContext",
    "ModelParallelUnit",
    "Trainer",
    "get_ds_config_from_hparams",
    "init",
    "make_data_parallel_mpu",
    "make_deepspeed_mpu",
    "overwrite_deepspeed_config",
    "run_trial_class",
]
