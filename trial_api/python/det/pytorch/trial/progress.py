"""How far training is."""

from __future__ import annotations

import dataclasses
import json

from det.pytorch.trial.train_units import Epoch, TrainUnit


@dataclasses.dataclass
class Progress:
    """The position of training, as state.json of a checkpoint has it.

    Attributes:
        trial_id: The trial that saved the checkpoint.
        steps_completed: The number of global batches that are trained.
        epoch: The epoch of the next batch, from 0.
        batch: The index of the next batch in its epoch, from 0.
        records: The number of records of the epoch that all ranks together have trained.
        reported_at: The value of steps_completed at the last training report.
        validated_at: The value of steps_completed at the last validation; -1: never.
    """

    trial_id: int | None = None
    steps_completed: int = 0
    epoch: int = 0
    batch: int = 0
    records: int = 0
    reported_at: int = 0
    validated_at: int = -1

    def to_json(self) -> str:
        """Returns the content of state.json."""
        return json.dumps(dataclasses.asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Progress:
        """Parses the content of state.json.

        Raises:
            ValueError: If it is not JSON.
            KeyError: If a field is missing.
            TypeError: If it is not a JSON object.
        """
        fields = json.loads(text)
        return cls(**{field.name: fields[field.name] for field in dataclasses.fields(cls)})

    def is_at(self, unit: TrainUnit | None) -> bool:
        """Returns whether a period ends here, or whether a container of positions has this one."""
        if unit is None or self.steps_completed == 0:
            return False
        if isinstance(unit, Epoch):
            return self.batch == 0 and unit.due(self.epoch)
        return unit.due(self.steps_completed)
