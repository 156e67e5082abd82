"""The calls of a script that uses the Core API."""
import contextlib
import json
import os
import threading
import uuid
from datetime import datetime, timezone

from determined.info import ClusterInfo, InvalidHP

# The directory to which the library writes checkpoints with shared_fs, regardless of the host path.
SHARED_FS = "/determined_shared_fs"


class Context:
    def __init__(self, info):
        self.info = info
        self.trial = info.trial["trial_id"]
        self.run = info.trial["trial_run_id"]
        storage = info.trial["config"]["checkpoint_storage"]
        allowed = {"type", "host_path", "storage_path", "container_path", "propagation",
                   "checkpoint_path", "tensorboard_path", "save_experiment_best",
                   "save_trial_best", "save_trial_latest"}
        assert storage["type"] == "shared_fs" and set(storage) <= allowed, storage
        self.storage = os.path.join(SHARED_FS, storage.get("storage_path") or "")
        info.call("POST", "/api/v1/runs/start",
                  {"runId": self.trial, "checkpointStorage": storage})
        self.preempted = threading.Event()
        self.listening = info.call("GET", self.signal("preemption?timeout_seconds=0"))
        threading.Thread(target=self.listen, daemon=True).start()

    def signal(self, name):
        return f"/api/v1/allocations/{self.info.allocation_id}/signals/{name}"

    def listen(self):
        while not self.preempted.is_set():
            if self.info.call("GET", self.signal("preemption?timeout_seconds=60"))["preempt"]:
                self.preempted.set()

    def should_preempt(self, wait=None):
        if not self.preempted.wait(wait):
            return False
        self.info.call("POST", self.signal("ack_preemption"))
        return True

    def set_status(self, state):
        self.info.call("POST", f"/api/v1/trials/{self.trial}/runner/metadata", {"state": state})

    def report(self, group, steps, metrics):
        self.info.call("POST", f"/api/v1/trials/{self.trial}/metrics", {
            "group": group, "metrics": {
                "metrics": {"avgMetrics": metrics, "batchMetrics": None}, "trialId": self.trial,
                "trialRunId": self.run, "reportTime": None, "stepsCompleted": steps}})

    def report_progress(self, progress):
        self.info.call("POST", f"/api/v1/trials/{self.trial}/progress",
                       {"progress": progress, "is_raw": True})

    def best(self):
        answer = self.info.call("GET", f"/api/v1/experiments/{self.info.trial['experiment_id']}"
                                       "/searcher/best_searcher_validation_metric")
        return answer and answer["metric"]

    def save(self, steps, state):
        name = str(uuid.uuid4())
        folder = os.path.join(self.storage, name)
        os.makedirs(folder)
        metadata = {"steps_completed": steps}
        for file, content in (("metadata.json", json.dumps(metadata)), ("state", state)):
            with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
                f.write(content)
        self.info.call("POST", "/api/v1/checkpoints", {
            "metadata": metadata, "state": "STATE_COMPLETED", "training": {}, "uuid": name,
            "resources": {f: str(os.path.getsize(os.path.join(folder, f)))
                          for f in os.listdir(folder)},
            "allocationId": self.info.allocation_id, "taskId": self.info.task_id,
            "reportTime": datetime.now(timezone.utc).isoformat(), "storageId": None})
        return name

    def restore(self):
        """(steps, state) of the checkpoint that this attempt starts from, or None."""
        if not self.info.latest_checkpoint:
            return None
        known = self.info.call("GET", f"/api/v1/checkpoints/{self.info.latest_checkpoint}")
        with open(os.path.join(self.storage, known["checkpoint"]["uuid"], "state"),
                  encoding="utf-8") as f:
            return int(known["checkpoint"]["metadata"]["steps_completed"]), f.read()


@contextlib.contextmanager
def init():
    info = ClusterInfo()
    context = Context(info)
    try:
        yield context
    except InvalidHP:
        info.call("POST", f"/api/v1/trials/{context.trial}/early_exit",
                  {"reason": "EXITED_REASON_INVALID_HP"})
