"""Fits y = 3 x + 1 by gradient descent, on any number of ranks."""

import json
import random

import det

DEFAULTS = {"learning_rate": 0.2, "batches": 100}
PER_RANK = 16
REPORT_EVERY, SAVE_EVERY = 10, 25


def gradient(weights, batch):
    """Of the mean squared error, and the error."""
    slope = offset = error = 0.0
    for x, y in batch:
        miss = weights[0] * x + weights[1] - y
        slope, offset, error = slope + 2 * miss * x, offset + 2 * miss, error + miss * miss
    return [slope / len(batch), offset / len(batch), error / len(batch)]


def batch_of(seed, step, rank):
    """Each rank has points of its own at each step, the same in every run."""
    points = random.Random(f"{seed} {step} {rank}")
    return [(x, 3 * x + 1) for x in (points.uniform(-1, 1) for _ in range(PER_RANK))]


def main(context):
    # 1. What to do: of the configuration, or of the script where it runs by itself.
    info, ranks = context.info, context.distributed
    hparams = info.trial.hparams if info else DEFAULTS
    seed = info.trial.trial_seed if info else 0
    weights, first = [0.0, 0.0], 0

    # 2. Go on where the run before has stopped; with another trial's weights, begin at 0.
    latest = context.checkpoint.newest_whole()
    if latest:
        with context.checkpoint.restore_path(latest) as path:
            weights = json.loads((path / "weights.json").read_text())
        if not info.trial.warm_start:
            first = context.checkpoint.get_metadata(latest)["steps_completed"]

    for step in range(first + 1, hparams["batches"] + 1):
        # 3. The ranks' gradients, averaged.
        told = ranks.allgather(gradient(weights, batch_of(seed, step, ranks.rank)))
        slope, offset, error = (sum(column) / ranks.size for column in zip(*told))
        weights[0] -= hparams["learning_rate"] * slope
        weights[1] -= hparams["learning_rate"] * offset

        # 4. Tell; from the chief alone, the others' reports are dropped.
        if step % REPORT_EVERY == 0:
            context.train.report_training_metrics(step, {"error": error})
            context.train.report_progress(step / hparams["batches"])

        # 5. What a run that goes on from the last checkpoint would not tell comes before it.
        last = step == hparams["batches"]
        if last:
            miss = abs(weights[0] - 3) + abs(weights[1] - 1)
            context.train.report_validation_metrics(step, {"error": miss})

        # 6. Save now and then, at the end, and when the cluster wants the slots: then go.
        preempted = context.preempt.should_preempt()
        if ranks.is_chief and (step % SAVE_EVERY == 0 or last or preempted):
            with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                (path / "weights.json").write_text(json.dumps(weights))
        if preempted:
            return


if __name__ == "__main__":
    with det.core.init() as core_context:
        main(core_context)
