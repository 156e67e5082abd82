"""Reports metrics and stores checkpoints of a Hugging Face Trainer, and stops it when preempted.

Needs the package transformers, which the training script uses.
"""

from __future__ import annotations

import json
import pathlib
import tempfile
from collections.abc import Mapping

import transformers

from det import core
from det._types import Json
from det.core._report import ReportedMetrics

_EVALUATION = "eval_"
# Endings of metrics that differ whenever the same model is evaluated.
_TIMES = ("_runtime", "_per_second")
# A metric of the summary at the end of train(), which is not a report of the training.
_SUMMARY = "train_runtime"
# Files of a checkpoint that are not weights, and the state of a Trainer before training.
_NO_WEIGHTS = ("optimizer.*", "scheduler.pt", "scaler.pt", "rng_state*.pth")
_INITIAL_STATE: dict[str, Json] = {
    "global_step": 0,
    "epoch": 0.0,
    "log_history": [],
    "best_metric": None,
    "best_global_step": None,
    "best_model_checkpoint": None,
    "stateful_callbacks": {},
    "total_flos": 0,
    "num_input_tokens_seen": 0,
    "train_batch_size": None,
}


class DetCallback(transformers.TrainerCallback):  # type: ignore[misc]
    """A callback for `callbacks=` of a Trainer.

    If the trial has a checkpoint, args.resume_from_checkpoint is set to a directory with it: call
    trainer.train(resume_from_checkpoint=args.resume_from_checkpoint). If the checkpoint belongs to
    another trial (a warm start), only its weights are used, and training starts from 0.

    Args:
        core_context: The context of det.core.init(), with the default preempt_mode.
        args: The TrainingArguments of the Trainer.
        filter_metrics: The names of the metrics to report, without "eval_". None: all numbers.
        user_data: Additional metadata of the checkpoints.
    """

    def __init__(
        self,
        core_context: core.Context,
        args: transformers.TrainingArguments,
        filter_metrics: list[str] | None = None,
        user_data: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__()
        self.core_context = core_context
        self._filter = set(filter_metrics) if filter_metrics else None
        self._user_data = dict(user_data or {})
        self._preempted = False
        self._reported = ReportedMetrics(changing=_TIMES)
        self._saved_at = -1
        self.load_last_checkpoint(args)

    def load_last_checkpoint(self, args: transformers.TrainingArguments) -> None:
        """Sets args.resume_from_checkpoint if there is a checkpoint. Collective on a node.

        Args:
            args: The TrainingArguments of the Trainer.

        Raises:
            CheckpointError: All checkpoints of the trial are damaged.
        """
        latest = self.core_context.checkpoint.newest_whole()
        if latest is None:
            return
        own = tempfile.mkdtemp(prefix=".restored-", dir=".")
        folder = self.core_context.distributed.broadcast_local(own)
        self.core_context.checkpoint.download(latest, folder)
        found = sorted(pathlib.Path(folder).glob("checkpoint-*"), key=_step)
        taken = found[-1] if found else pathlib.Path(folder)
        info = self.core_context.info
        if info is not None and info.trial is not None and info.trial.warm_start:
            if self.core_context.distributed.is_local_chief:
                _keep_weights(taken)
            self.core_context.distributed.broadcast_local(None)  # No rank may read it before.
        args.resume_from_checkpoint = str(taken)

    def on_log(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        logs: dict[str, float] | None = None,
        **kwargs: transformers.TrainingArguments,
    ) -> None:
        """Reports the metrics of evaluations as validation metrics, others as training metrics.

        Args:
            args: The TrainingArguments.
            state: The TrainerState.
            control: The TrainerControl.
            logs: The metrics by name.
            **kwargs: Ignored.
        """
        logs = logs or {}
        if not state.is_world_process_zero or _SUMMARY in logs:
            return
        evaluation = {n: v for n, v in logs.items() if n.startswith(_EVALUATION)}
        training = {n: v for n, v in logs.items() if n not in evaluation}
        steps = int(state.global_step)
        if evaluation:
            self._report("validation", steps, evaluation, state)
        elif training:
            self._report("training", steps, training, state)
        if state.max_steps > 0:
            self.core_context.train.report_progress(min(1.0, steps / state.max_steps))

    def _report(
        self, group: str, steps: int, metrics: dict[str, float], state: transformers.TrainerState
    ) -> None:
        numbers = {
            name: value
            for name, value in metrics.items()
            if isinstance(value, (int, float)) and self._is_reported(name)
        }
        if not numbers:
            return
        numbers.setdefault("batches", steps)
        numbers.setdefault("epochs", float(state.epoch or 0))
        new = self._reported.select_new(group, steps, numbers)
        if new:
            self.core_context.train.report_metrics(group, steps, new)

    def _is_reported(self, name: str) -> bool:
        short = name[len(_EVALUATION) :] if name.startswith(_EVALUATION) else name
        return self._filter is None or short in self._filter or name in self._filter

    def on_step_end(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: transformers.TrainingArguments,
    ) -> None:
        """Stops all ranks after the same step, with a checkpoint, if preempted. Collective.

        Args:
            args: The TrainingArguments.
            state: The TrainerState.
            control: The TrainerControl, which is changed to save and stop.
            **kwargs: Ignored.
        """
        if self.core_context.preempt.should_preempt(auto_ack=False):
            self._preempted = True
            control.should_save = True
            control.should_training_stop = True

    def on_save(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: transformers.TrainingArguments,
    ) -> None:
        """Stores the directory that the Trainer has just written, that of each node. Collective.

        Args:
            args: The TrainingArguments.
            state: The TrainerState.
            control: The TrainerControl.
            **kwargs: Ignored.

        Raises:
            CheckpointError: The checkpoint cannot be stored.
        """
        steps = int(state.global_step)
        if self._saved_at == steps:
            return
        self._saved_at = steps
        name = f"checkpoint-{steps}"
        distributed = self.core_context.distributed
        distributed.allgather(None)  # Wait until each rank has written its part.
        source = pathlib.Path(args.output_dir) if distributed.is_local_chief else None
        metadata = {**self._user_data, "steps_completed": steps, "framework": "transformers"}
        self.core_context.checkpoint.upload(
            source,
            metadata,
            shard=True,
            selector=lambda path: path.startswith(name + "/"),
        )
        if self._preempted and distributed.is_chief:
            self.core_context.preempt.acknowledge_preemption_signal()


def _keep_weights(folder: pathlib.Path) -> None:
    """Removes everything but the weights from another trial's checkpoint.

    Training then starts from 0, with a new optimizer.
    """
    for pattern in _NO_WEIGHTS:
        for path in folder.glob(pattern):
            path.unlink()
    state = folder / "trainer_state.json"
    if state.exists():  # The Trainer needs the file; only the progress is reset.
        values = json.loads(state.read_text(encoding="utf-8"))
        values.update({name: value for name, value in _INITIAL_STATE.items() if name in values})
        state.write_text(json.dumps(values, indent=2), encoding="utf-8")


def _step(path: pathlib.Path) -> int:
    number = path.name.rpartition("-")[2]
    return int(number) if number.isdigit() else -1
