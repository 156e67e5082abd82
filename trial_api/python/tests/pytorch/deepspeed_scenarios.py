"""Scenarios for two ranks with DeepSpeed's engines; see scenarios.py."""

from det import pytorch as dp
from fake_deepspeed import EngineTrial, train


class HalfBatchTrial(EngineTrial):
    """A Trial with half the micro-batches on each rank: steps have 16 records, as on one rank."""

    sizes = (4, 2)


def _summarize(result):
    return {
        "weights": {name: tensor.tolist() for name, tensor in result.weights.items()},
        "reports": result.train.reports,
        "steps": result.steps,
    }


def engines(_storage=None):
    return _summarize(train(HalfBatchTrial, max_length=dp.Batch(10), reporting_period=dp.Batch(5)))


def engines_resumed(_storage=None):
    first = train(HalfBatchTrial, max_length=dp.Batch(10), preempt_at=4)
    return _summarize(
        train(
            HalfBatchTrial,
            max_length=dp.Batch(10),
            storage=first.storage,
            latest_checkpoint=first.last_uuid,
        )
    )


SCENARIOS = {function.__name__: function for function in (engines, engines_resumed)}
