"""Common functions of the scheduling tests: a trial that saves when it is preempted, and queue
queries."""
import os

import harness
from harness import eventually, job

# A trial without a library. It runs until a file exists; when preempted, it saves and exits.
SAVER = '''
import json, os, pathlib, sys, threading, time, urllib.request, uuid
info = json.loads(pathlib.Path(os.environ["DET_RUN_DIR"], "info/trial.json").read_text())
def call(method, body):
    return urllib.request.urlopen(urllib.request.Request(
        os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/" + method,
        data=json.dumps({"allocationId": info["allocation_id"], **body}).encode(),
        headers={"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]}))
preempted = threading.Event()
def watch():
    for line in call("WatchAllocation", {}):
        if b"preemption" in line:
            return preempted.set()
threading.Thread(target=watch, daemon=True).start()
steps = info["steps_completed"]
print("begun from", steps, "after", info["latest_checkpoint"], flush=True)
while not os.path.exists(sys.argv[1]):
    steps += 1
    if preempted.wait(0.05):
        call("ReportCheckpoint", {"trialId": info["trial_id"], "uuid": str(uuid.uuid4()),
                                  "stepsCompleted": steps, "resources": {}})
        call("AckPreemption", {})
        print("saved at", steps, flush=True)
        break
'''


class SchedulingTestCase(harness.ClusterTestCase):
    agents, slots = 2, 2

    def setUp(self):
        self.created = []

    def tearDown(self):
        for experiment in self.created:
            self.home.det("experiment", "kill", experiment, code=None)
        for experiment in self.created:
            self.home.finish(experiment)
        self.home.det("agent", "enable", "--all")

    def create(self, slots=1, entrypoint="echo begun; sleep 600", files=None, **changes):
        resources = {"slots_per_trial": slots, **changes.pop("resources", {})}
        experiment = self.home.create(
            job(entrypoint=entrypoint, resources=resources,
                **{"preemption_timeout": 20, **changes}),
            self.home.context(files))
        self.created.append(experiment)
        return experiment

    def saver(self, flag, slots=1, **changes):
        return self.create(slots, f"exec /usr/bin/python3 saver.py {self.path(flag)}",
                           {"saver.py": SAVER}, **changes)

    def path(self, flag):
        return os.path.join(self.home.folder, flag)

    def log(self, experiment):
        return self.home.trial_log(self.home.first_trial(experiment)["id"])

    def await_log(self, experiment, words="begun"):
        eventually(lambda: words in self.log(experiment), f"{words!r} in the log of {experiment}")

    def agents_of(self, experiment):
        return self.home.first_trial(experiment)["runs"][-1]["agentIds"]

    def jobs(self, *args):
        return self.home.json("job", "list", *args)["jobs"]

    def queue_entry(self, experiment):
        """The entry of the job in the queue; None if there is none."""
        found = [j for j in self.jobs() if j["entityId"] == str(experiment)]
        return found[0] if found else None

    def await_reason(self, experiment, *words):
        """Waits until the wait reason of the job contains these words, and returns it."""
        def poll():
            entry = self.queue_entry(experiment)
            reason = entry and entry["summary"]["state"] == "STATE_QUEUED" and entry["reason"]
            return reason if reason and all(word in reason for word in words) else None
        return eventually(poll, f"a wait reason of experiment {experiment} with {words}")

    def order(self):
        return [int(j["entityId"]) for j in self.jobs()]
