"""The calls before the program of the user starts."""
import base64
import io
import os
import tarfile

from determined.info import ClusterInfo

info = ClusterInfo()
assert info.call("GET", "/api/v1/me")["user"]["username"] == os.environ["DET_USER"]
packed = info.call("GET", f"/api/v1/tasks/{info.task_id}/context_directory")["b64Tgz"]
with tarfile.open(fileobj=io.BytesIO(base64.b64decode(packed)), mode="r:gz") as context:
    names = {os.path.normpath(name) for name in context.getnames()} - {"."}
assert names == set(os.listdir("/run/determined/train/model")), names
info.call("POST", f"/api/v1/allocations/{info.allocation_id}/acceleratorData", {
    "acceleratorData": {
        "acceleratorType": "cpu", "acceleratorUuids": info.gpu_uuids, "taskId": info.task_id,
        "allocationId": info.allocation_id, "nodeName": info.agent_id,
        "containerId": os.environ["DET_CONTAINER_ID"]}, "allocationId": info.allocation_id})
rendezvous = info.call("GET", f"/api/v1/allocations/{info.allocation_id}/resources/"
                        f"{os.environ['DET_RESOURCES_ID']}/rendezvous")["rendezvousInfo"]
assert rendezvous["addresses"] == info.container_addrs, rendezvous
assert rendezvous.get("rank", 0) == info.container_rank, rendezvous
assert rendezvous["slots"] == info.container_slot_counts, rendezvous
