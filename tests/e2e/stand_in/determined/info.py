"""The information about a task, and its connection to the master."""
import json
import os
import urllib.error
import urllib.request

FOLDER = "/run/determined/info"
# The parameters of the original constructor, which fails with other members.
TRIAL = {"trial_id", "experiment_id", "trial_seed", "hparams", "config", "steps_completed",
         "trial_run_id", "debug"}


class InvalidHP(Exception):
    pass


def read(name):
    with open(f"{FOLDER}/{name}.json", encoding="utf-8") as f:
        return json.load(f)


class ClusterInfo:
    def __init__(self):
        info = read("cluster")
        for name, variable in (("master_url", "DET_MASTER"), ("cluster_id", "DET_CLUSTER_ID"),
                               ("agent_id", "DET_AGENT_ID"), ("task_id", "DET_TASK_ID"),
                               ("allocation_id", "DET_ALLOCATION_ID"),
                               ("session_token", "DET_SESSION_TOKEN"),
                               ("task_type", "DET_TASK_TYPE")):
            assert info[name] == os.environ[variable], (name, info[name], os.environ[variable])
            setattr(self, name, info[name])
        assert info["slot_ids"] == json.loads(os.environ["DET_SLOT_IDS"])
        self.slot_ids = info["slot_ids"]
        self.latest_checkpoint = info.get("latest_checkpoint")
        assert self.latest_checkpoint == os.environ.get("DET_LATEST_CHECKPOINT")
        self.gpu_uuids = read("resources")["gpu_uuids"]
        rendezvous = read("rendezvous")
        self.container_addrs = rendezvous["container_addrs"]
        self.container_rank = rendezvous["container_rank"]
        self.container_slot_counts = rendezvous["container_slot_counts"]
        self.trial = read("trial")
        assert set(self.trial) == TRIAL, set(self.trial) ^ TRIAL
        for name, variable in (("trial_id", "DET_TRIAL_ID"), ("trial_seed", "DET_TRIAL_SEED"),
                               ("experiment_id", "DET_EXPERIMENT_ID"),
                               ("trial_run_id", "DET_TRIAL_RUN_ID"),
                               ("steps_completed", "DET_STEPS_COMPLETED")):
            assert self.trial[name] == int(os.environ[variable]), name
        for name, variable in (("hparams", "DET_HPARAMS"), ("config", "DET_EXPERIMENT_CONFIG")):
            if variable in os.environ:
                assert self.trial[name] == json.loads(os.environ[variable]), name

    def call(self, verb, path, body=None):
        """Sends a request as the library does: without a content type, with the token of the
        allocation."""
        headers = {"Grpc-Metadata-x-allocation-token": f"Bearer {self.session_token}"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.master_url + path, data, headers, method=verb)
        if data is not None:
            request.add_header("Content-Type", "")
        try:
            with urllib.request.urlopen(request) as answer:
                assert answer.status == 200, answer.status
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise AssertionError(f"{verb} {path}: {error.code} {error.read()}") from None


def get_cluster_info():
    return ClusterInfo()
