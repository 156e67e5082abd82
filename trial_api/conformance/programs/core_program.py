"""Adds up records with the Core API. The sum shows each record that is lost or counted twice."""

import json

import det
from incidents import Incidents


class Program:
    """Trains, validates and saves.

    What is due is a function of the steps and is done before the next batch. The state of a
    checkpoint says what was done.
    """

    def __init__(self, context):
        self.context = context
        self.ranks = context.distributed
        trial = context.info.trial
        self.batch_size = trial.hparams["global_batch_size"]
        self.length = trial.config["searcher"]["max_length"]["batches"]
        self.period = trial.config["min_validation_period"]["batches"]
        self.incidents = Incidents(trial.hparams, context, self.is_preempted)
        self.state = {"steps": 0, "sum": 0, "reported": 0, "validated": 0}
        self.saved_at = 0
        self.pending = None

    def is_preempted(self):
        return self.context.preempt.should_preempt(auto_ack=False)

    @property
    def steps(self):
        return self.state["steps"]

    def run(self):
        self.incidents.reach("begin", self.steps)
        self.load()
        self.do_due_work()
        while self.steps < self.length:
            self.train_batch()
            if self.is_preempted() and self.steps < self.length:
                self.save()
                self.finish_save()
                self.context.preempt.acknowledge_preemption_signal()
                return
            self.do_due_work()
        self.finish_save()

    def load(self):
        uuid = self.context.checkpoint.newest_whole()
        if uuid is None:
            return
        with self.context.checkpoint.restore_path(uuid) as folder:
            self.state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        self.saved_at = self.steps

    def train_batch(self):
        first = self.steps * self.batch_size
        self.incidents.reach("batch", self.steps + 1)
        mine = range(first + self.ranks.rank, first + self.batch_size, self.ranks.size)
        self.state["sum"] += sum(self.ranks.allgather(sum(mine)))
        self.state["steps"] += 1
        if self.steps == self.length:
            self.incidents.reach("end", self.steps)

    def do_due_work(self):
        steps, train = self.steps, self.context.train
        if self.state["reported"] != steps:
            value = self.incidents.metric("batch", steps, self.state["sum"])
            train.report_training_metrics(steps, {"sum": value})
            self.state["reported"] = steps
        if steps == 0 or steps % self.period:
            return
        if self.state["validated"] != steps:
            self.incidents.reach("validate", steps)
            value = self.incidents.metric("validate", steps, self.state["sum"])
            train.report_validation_metrics(steps, {"sum": value})
            self.state["validated"] = steps
        self.save()

    def save(self):
        if self.saved_at == self.steps:
            return
        self.finish_save()
        steps, text = self.steps, json.dumps(self.state)

        def write(folder):
            if self.ranks.is_chief:
                (folder / "state.json").write_text(text, encoding="utf-8")
            self.incidents.reach("save", steps)

        self.pending = self.context.checkpoint.start_save(
            {"steps_completed": steps}, write, shard=True
        )
        self.saved_at = steps

    def finish_save(self):
        if self.pending is not None:
            self.pending.result()


if __name__ == "__main__":
    with det.core.init() as core_context:
        Program(core_context).run()
