"""What the scenario needs beside the recorded calls: derive.py puts it into the tables.

The recording has no passwords, no special headers, and no calls that only prepare others. Keys are
"group:name" of a recorded call. "{exp:8}" is the experiment whose ID is 8 in the recording.
"""

# The passwords in the bodies of calls; "{hash:X}" is the hash that clients send for the password X.
PASSWORDS = {
    "login:login/admin": "{admin}",
    "login:login/hashed": "{hash:admin}",
    "login:login/hashed-snake-case": "{hash:admin}",
    "login:login/plain-given-as-hashed": "{admin}",
    "login:login/wrong-password": "Wrong-pass-1",
    "login:login/unknown-user": "{admin}",
    "login:login/no-username": "{admin}",
    "login:login/upper-case-name": "{admin}",
    "login:login/unknown-member": "{admin}",
    "login:login/wrong-type": "{admin}",
    "users:create": "Alice-pass-1",
    "users:create/hashed-and-names": "{hash:Bob-pass-01}",
    "users:create/second-admin": "Carol-pass-1",
    "users:create/inactive": "Dave-pass-01",
    "users:create/active-left-out": "Frank-pass-1",
    "users:create/password-without-digit": "Abcdefgh",
    "users:create/password-without-upper-case": "abcdefg1",
    "users:create/password-without-lower-case": "ABCDEFG1",
    "users:create/remote-with-password": "Ivan-pass-5",
    "users:create/duplicate": "Alice-pass-1",
    "users:create/duplicate-other-case": "Alice-pass-1",
    "users:create/empty-name": "Empty-pass-1",
    "users:create/blank-name": "Empty-pass-1",
    "users:create/no-user": "Empty-pass-1",
    "users:create/long-name": "Long-pass-01",
    "users:create/slash-in-name": "Slash-pass-1",
    "users:create/wrong-type": "Type-pass-1",
    "users:create/half-agent-user-group": "Half-pass-01",
    "users:create/display-name-of-another": "Judy-pass-01",
    "users:login/hashed-created": "Bob-pass-01",
    "users:login/inactive": "Dave-pass-01",
    "users:login/remote": "Any-pass-1",
    "users:create/by-user": "Mallory-pass-1",
    "users:patch/password": "Bob-pass-02",
    "users:login/after-password-patch": "Bob-pass-02",
    "users:patch/password-hashed": "{hash:Bob-pass-03}",
    "users:patch/remote-false-with-password": "Dave-pass-02",
    "users:patch/own-password": "Alice-pass-2",
    "users:password/object": "Bob-pass-05",
}

# Bodies that are sent as they are, not as JSON values.
RAW = {"login:login/bad-json", "login:login/json-array", "routing:body/text", "routing:body/empty",
       "routing:body/form"}

# A value that the recording cuts.
BODIES = {"runs:metadata/long-value": {"metadata": {"k": "{6000 v}"}}}

HEADERS = {
    "login:me/empty-token": {"Authorization": "Bearer "},
    "login:me/basic-auth": {"Authorization": "Basic YWRtaW46YQ=="},
    "login:me/lower-case-bearer": {"Authorization": "bearer {token:admin}"},
    "login:me/cookie": {"Cookie": "auth={token:admin}"},
    "login:me/grpc-header": {"Grpc-Metadata-x-user-token": "Bearer {token:admin}"},
    "routing:health/stale-cookie": {"Cookie": "auth=v2.public.stale"},
    "routing:body/form": {"Content-Type": "application/x-www-form-urlencoded"},
    "routing:method-override": {"X-HTTP-Method-Override": "GET"},
    "checkpoints:old/get-zip": {"Accept": "application/zip"},
    "checkpoints:old/get-tgz": {"Accept": "application/x-gtar"},
}

# The token in the answer becomes that of the caller of this name.
BECOMES = {"tokens:create": "access"}


def _login(caller, username, *passwords, **options):
    return {"login": caller, "username": username, "passwords": list(passwords), **options}


def _call(method, path, body=None, **creates):
    step = {"call": method, "path": path, "body": body}
    if creates:
        step["creates"] = {f"{name}.id": kind for name, kind in creates.items()}
    return step


def _report(trial, kind, step, metric, value):
    return _call("POST", f"/api/v1/trials/{{trial:{trial}}}/{kind}_metrics", {
        "trialRunId": 1, "stepsCompleted": step * 10, "metrics": {"avgMetrics": {metric: value}}})


def _two_trials_of_a_search():
    steps = []
    for factor, trial in ((1, 34), (2, 40)):
        steps.append(_call("POST", f"/api/v1/trials/{{trial:{trial}}}/start", {"resume": True}))
        for i in range(1, 5):
            steps.append(_report(trial, "training", i, "loss", factor / i))
            steps.append(_report(trial, "validation", i, "val_loss", factor * 1.5 / i))
    return steps


def _bulk_experiments():
    steps = [_call("POST", "/api/v1/workspaces/{ws:2}/projects", {"name": "rec-bulk"}, project="proj:18")]
    for i in range(4):
        config = ('{"name": "rec-bulk-%d", "entrypoint": "python3 train.py", "max_restarts": 1, '
                  '"hyperparameters": {"lr": 0.1}, "searcher": {"name": "single", "metric": "m"}, '
                  '"resources": {"slots_per_trial": 0}, "reproducibility": {"experiment_seed": 1234}, '
                  '"checkpoint_storage": {"type": "shared_fs", "host_path": "/recorded-ckpt"}, '
                  '"labels": ["bulk"]}' % i)
        steps.append(_call("POST", "/api/v1/experiments", {
            "config": config, "projectId": "{proj:18}",
            "modelDefinition": [{"path": "a.py", "type": 48, "content": "eA==", "mtime": "1700000000",
                                 "mode": 420, "uid": 0, "gid": 0}]}, experiment=f"exp:{18 + i}"))
    return steps


def _sleep(seconds):
    return {"sleep": seconds}


def _each(path, member, call, **only):
    """Sends the call for each element of a list whose members begin with the values of `only`."""
    return {"each": path, "member": member, "call": call, "only": only}


_GONE = {"until": "gone"}
_ENDED = {"until": "ended"}
_ALL_ENDED = {"until": "all ended", "path": "/api/v1/experiments?projectId={proj:18}"}
_DETACHED = ('{"name": "rec-odd-progress", "searcher": {"name": "single", "metric": "val_loss"}, '
             '"hyperparameters": {"lr": 0.01, "layers": 3, "nested": {"a": 1, "b": "x"}}}')

# The steps before a call.
BEFORE = {
    "login:me": [_login("admin", "admin", "{admin}")],
    "login:logout": [_login("brief", "admin", "{admin}")],
    "users:login/hashed-created": [_login("user", "rec-alice", "Alice-pass-1"),
                                   _login("user2", "rec-bob", "Bob-pass-01"),
                                   _login("admin2", "rec-carol", "Carol-pass-1")],
    "users:patch/password-weak": [_login("user2", "rec-bob", "Bob-pass-02")],
    "users:patch/remote-true": [_login("user2", "rec-bob", "Bob-pass-03")],
    "users:patch/own-admin": [_login("user", "rec-alice", "Alice-pass-1", if_needed=True)],
    "users:password/own": [_login("user", "rec-alice", "Alice-pass-2")],
    "users:password/own-hashed-text": [_login("user", "rec-alice", "Alice-pass-3", "Alice-pass-2")],
    "users:password/of-other-by-admin": [
        _login("user", "rec-alice", "{hash:Alice-pass-4}", "Alice-pass-4", "Alice-pass-3",
               "Alice-pass-2")],
    "users:bulk/deactivate": [_login("user2", "rec-bob", "Bob-pass-07")],
    "workspaces:get/deleted": [_GONE],
    "projects:get/deleted": [_GONE],
    # The sessions of a user end here when the user is deactivated.
    "experiments_create:create/in-others-project-by-user": [_login("user2", "rec-bob", "Bob-pass-07")],
    "experiments_change:get/cancelled": [_ENDED],
    "experiments_change:get/killed": [_ENDED],
    "experiments_change:get/trial-killed": [_ENDED],
    "experiments_change:delete/by-user": [_ENDED],
    "experiments_change:get/deleted": [_GONE],
    "jobs:list": [_call("POST", "/api/v1/experiments/{exp:8}/activate"), _sleep(1)],
    "detached:progress/nan": [
        _call("POST", "/api/v1/workspaces/{ws:3}/projects", {"name": "rec-odd"}, project="proj:17"),
        _call("POST", "/api/v1/experiments", {"config": _DETACHED, "unmanaged": True,
                                              "projectId": "{proj:17}"}, experiment="exp:16"),
        _call("POST", "/api/v1/trials", {"experimentId": "{exp:16}", "unmanaged": True},
              trial="trial:39")],
    "metrics_report:profiler/old-post": _two_trials_of_a_search(),
    "logs:trial/all": [_sleep(1.5)],
    "runs:get/deleted": [_sleep(1)],
    "checkpoints_delete:by-user": [_each("/api/v1/webhooks", "webhooks", "DELETE /api/v1/webhooks/{id}",
                                         url="{receiver}")],
    "allocations:kill/command-get": [_sleep(0.7)],
    "allocations:kill/notebook-get": [_sleep(0.7)],
    "allocations:kill/shell-get": [_sleep(0.7)],
    "allocations:kill/tensorboard-get": [_sleep(0.7)],
    "allocations:kill/notebook-by-user": [
        _each("/api/v1/commands", "commands", "POST /api/v1/commands/{id}/kill")],
    "allocations:kill/shell-by-user": [
        _each("/api/v1/notebooks", "notebooks", "POST /api/v1/notebooks/{id}/kill")],
    "allocations:kill/tensorboard-by-user": [
        _each("/api/v1/shells", "shells", "POST /api/v1/shells/{id}/kill")],
    "allocations:tasks-after": [
        _each("/api/v1/tensorboards", "tensorboards", "POST /api/v1/tensorboards/{id}/kill")],
    "generic_tasks:task/paused": [_sleep(1)],
    "generic_tasks:task/unpaused": [_sleep(1)],
    "generic_tasks:task/killed": [_sleep(1.5)],
    "generic_tasks:old-list": [{"kill": ["create/no-pause", "create/forked", "create/child", "create"]}],
    "bulk:activate": _bulk_experiments(),
    "bulk:archive": [_ALL_ENDED],
    "bulk:list-after": [_ALL_ENDED],
    "bulk:project-after-delete": [_GONE],
}
