"""Fits y = 3 x + 1 by gradient descent, on any number of ranks."""

import json
import random

import det

DEFAULTS = {"learning_rate": 0.2, "batches": 100}
PER_RANK = 16
REPORT_EVERY, SAVE_EVERY = 10, 25


def gradient(weights, batch):
    """Returns the gradient of the mean squared error, and the error."""
    slope = offset = error = 0.0
    for x, y in batch:
        miss = weights[0] * x + weights[1] - y
        slope, offset, error = slope + 2 * miss * x, offset + 2 * miss, error + miss * miss
    return [slope / len(batch), offset / len(batch), error / len(batch)]


def make_batch(seed, step, rank):
    """Returns the points of a rank at a step, which are the same in every run."""
    points = random.Random(f"{seed} {step} {rank}")
    return [(x, 3 * x + 1) for x in (points.uniform(-1, 1) for _ in range(PER_RANK))]


def main(context):
    # 1. Read the hyperparameters: those of the configuration or, off the cluster, the defaults.
    info, ranks = context.info, context.distributed
    hparams = info.trial.hparams if info else DEFAULTS
    seed = info.trial.trial_seed if info else 0
    weights, first = [0.0, 0.0], 0

    # 2. Resume where the previous attempt stopped. With the weights of another trial, start from 0.
    latest = context.checkpoint.newest_whole()
    if latest:
        with context.checkpoint.restore_path(latest) as path:
            weights = json.loads((path / "weights.json").read_text())
        if not info.trial.warm_start:
            first = context.checkpoint.get_metadata(latest)["steps_completed"]

    for step in range(first + 1, hparams["batches"] + 1):
        # 3. Average the gradients of all ranks.
        gradients = ranks.allgather(gradient(weights, make_batch(seed, step, ranks.rank)))
        slope, offset, error = (sum(column) / ranks.size for column in zip(*gradients))
        weights[0] -= hparams["learning_rate"] * slope
        weights[1] -= hparams["learning_rate"] * offset

        # 4. Report. Only the chief reports: reports of other ranks are ignored.
        if step % REPORT_EVERY == 0:
            context.train.report_training_metrics(step, {"error": error})
            context.train.report_progress(step / hparams["batches"])

        # 5. Report before the checkpoint what a run that resumes from it would not repeat.
        last = step == hparams["batches"]
        if last:
            miss = abs(weights[0] - 3) + abs(weights[1] - 1)
            context.train.report_validation_metrics(step, {"error": miss})

        # 6. Save regularly, at the end, and when the trial is preempted; then exit.
        preempted = context.preempt.should_preempt()
        if ranks.is_chief and (step % SAVE_EVERY == 0 or last or preempted):
            with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                (path / "weights.json").write_text(json.dumps(weights))
        if preempted:
            return


if __name__ == "__main__":
    with det.core.init() as core_context:
        main(core_context)
