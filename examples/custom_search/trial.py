"""A trial without a library: reports (x - 1)^2 as its only validation, over plain HTTP."""

import json
import os
import pathlib
import urllib.request


def main() -> None:
    info = json.loads(pathlib.Path(os.environ["DET_RUN_DIR"], "info/trial.json").read_text())
    x = info["hparams"]["x"]
    report = {
        "allocationId": info["allocation_id"],
        "trialId": info["trial_id"],
        "trialRunId": info["trial_run_id"],
        "reports": [
            {"group": "validation", "stepsCompleted": 1, "metrics": {"loss": (x - 1) ** 2}}
        ],
    }
    request = urllib.request.Request(
        os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/ReportMetrics",
        data=json.dumps(report).encode(),
        headers={"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]},
    )
    urllib.request.urlopen(request).read()


if __name__ == "__main__":
    main()
