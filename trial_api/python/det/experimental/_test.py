"""test_one_batch(): a short local run of a Trial."""

from __future__ import annotations

from typing import Any

from det._types import JsonObject


def test_one_batch(trial_class: type[Any], config: JsonObject | None = None) -> None:
    """Trains one batch, validates and saves a checkpoint, in this process and off the cluster.

    A script may call Trainer.fit(test_mode=True) instead.

    Args:
        trial_class: A subclass of PyTorchTrial.
        config: The experiment config; its hyperparameters are values, not ranges.

    Raises:
        TypeError: It is another class.
    """
    from det import pytorch

    if not issubclass(trial_class, pytorch.PyTorchTrial):
        raise TypeError(f"test_one_batch() takes a subclass of PyTorchTrial, not {trial_class!r}")
    with pytorch.init(exp_conf=config or {}, enable_tensorboard_logging=False) as context:
        trainer = pytorch.Trainer(trial_class(context), context)
        trainer.fit(max_length=pytorch.Batch(1), test_mode=True)
