"""Scenarios for two ranks with DeepSpeed's engines; see scenarios.py."""

from det import pytorch as dp
from fake_deepspeed import EngineTrial, train


class Halves(EngineTrial):
    """A Trial with steps of 16 records, as on one rank."""

    sizes = (4, 2)


def _of(run):
    return {
        "weights": {name: tensor.tolist() for name, tensor in run.weights.items()},
        "reports": run.train.reports,
        "steps": run.steps,
    }


def engines(_storage=None):
    return _of(train(Halves, max_length=dp.Batch(10), reporting_period=dp.Batch(5)))


def engines_resumed(_storage=None):
    first = train(Halves, max_length=dp.Batch(10), preempt_at=4)
    return _of(
        train(
            Halves,
            max_length=dp.Batch(10),
            storage=first.storage,
            latest_checkpoint=first.last_uuid,
        )
    )


SCENARIOS = {function.__name__: function for function in (engines, engines_resumed)}
