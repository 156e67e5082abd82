"""A PyTorchTrial whose weight is the sum of all records so far, divided by the batch size."""

import torch
from det import pytorch as dp
from incidents import Incidents


class SumTrial(dp.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.length = context.get_experiment_config()["searcher"]["max_length"]["batches"]
        self.batch_size = context.get_hparam("global_batch_size")
        self.net = context.wrap_model(torch.nn.Linear(1, 1, bias=False))
        torch.nn.init.zeros_(self.net.weight)
        self.sgd = context.wrap_optimizer(torch.optim.SGD(self.net.parameters(), 1.0))
        self.incidents = Incidents(context.get_hparams(), context._core, self.is_preempted)
        self.incidents.reach("begin", 0)

    def is_preempted(self):
        """Returns whether the trial is preempted.

        Only the chief knows. The others return true: they learn of it in the next collective call.
        """
        ranks = self.context.distributed
        return ranks.rank != 0 or self.context._core.preempt.should_preempt(auto_ack=False)

    def build_training_data_loader(self):
        records = torch.arange(self.length * self.batch_size, dtype=torch.float32)
        dataset = torch.utils.data.TensorDataset(records.reshape(-1, 1))
        return dp.DataLoader(dataset, self.context.get_per_slot_batch_size())

    def build_validation_data_loader(self):
        return dp.DataLoader(torch.utils.data.TensorDataset(torch.zeros(2, 1)), 1)

    def build_callbacks(self):
        return {"incidents": _IncidentCallback(self)}

    def total(self):
        net = getattr(self.net, "module", self.net)
        return net.weight.item() * self.batch_size

    def train_batch(self, batch, epoch_idx, batch_idx):
        steps = batch_idx + 1
        self.incidents.reach("batch", steps)
        self.context.backward(-self.net(batch[0]).mean())
        self.context.step_optimizer(self.sgd)
        return {"sum": self.incidents.metric("batch", steps, self.total())}

    def evaluate_batch(self, batch, batch_idx):
        steps = self.context.current_train_batch()
        if batch_idx == 0:
            self.incidents.reach("validate", steps)
        return {"sum": self.incidents.metric("validate", steps, self.total())}


class _IncidentCallback(dp.PyTorchCallback):
    def __init__(self, trial):
        self.trial = trial
        self.saved_steps = 0

    def on_training_epoch_end(self, epoch_idx):
        self.trial.incidents.reach("end", self.trial.length)  # Training has one epoch.

    def on_checkpoint_save_start(self, checkpoint):
        self.saved_steps = self.trial.context.current_train_batch()

    def on_checkpoint_write_end(self, checkpoint_dir):
        self.trial.incidents.reach("save", self.saved_steps)
