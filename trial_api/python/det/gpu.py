"""The GPUs of this machine, as nvidia-smi and rocm-smi list them."""

from __future__ import annotations

import csv
import json
import subprocess
from typing import NamedTuple


class GPU(NamedTuple):
    """A GPU.

    Attributes:
        id: Its index.
        uuid: Its UUID.
        load: The fraction of time in which it is busy, from 0 to 1.
        memoryUtil: The fraction of its memory that is used, from 0 to 1.
    """

    id: int
    uuid: str
    load: float
    memoryUtil: float


class GPUProcess(NamedTuple):
    """A process that uses a GPU.

    Attributes:
        pid: The ID of the process.
        process_name: Its name.
        gpu_uuid: The UUID of the GPU.
        used_memory: The memory that it uses, with the unit: "123 MiB".
    """

    pid: int
    process_name: str
    gpu_uuid: str
    used_memory: str


def get_gpus() -> tuple[list[GPU], str]:
    """Returns the GPUs, and "cuda" or "rocm"; an empty list and "" if there are none."""
    fields = "index,uuid,utilization.gpu,memory.used,memory.total"
    found = [
        GPU(
            int(index),
            uuid,
            _to_float(load, 0.0) / 100,
            _to_float(used, 0.0) / _to_float(total, 1.0),
        )
        for index, uuid, load, used, total in _query("--query-gpu=", fields, ",nounits")
    ]
    if found:
        return found, "cuda"
    try:
        cards = json.loads(_run("rocm-smi", "--showid", "--showuniqueid", "--json"))
    except ValueError:
        cards = {}
    found = [
        GPU(int(name[len("card") :]), str(card["Unique ID"]), 0.0, 0.0)
        for name, card in cards.items()
        if name.startswith("card") and "Unique ID" in card
    ]
    return found, "rocm" if found else ""


def get_gpu_uuids() -> list[str]:
    """Returns the UUIDs of the GPUs in the order of their indices."""
    return [gpu.uuid for gpu in sorted(get_gpus()[0])]


def get_gpu_processes() -> list[GPUProcess]:
    """Returns the processes that use an NVIDIA GPU."""
    rows = _query("--query-compute-apps=", ",".join(GPUProcess._fields), "")
    return [GPUProcess(int(pid), name, uuid, used) for pid, name, uuid, used in rows]


def _query(option: str, fields: str, form: str) -> list[list[str]]:
    """Returns the rows of nvidia-smi with as many columns as there are fields."""
    lines = _run("nvidia-smi", option + fields, f"--format=csv,noheader{form}").splitlines()
    rows = [[column.strip() for column in row] for row in csv.reader(lines)]
    return [row for row in rows if len(row) == fields.count(",") + 1 and row[0].isdigit()]


def _run(*command: str) -> str:
    """Returns the output of a program; an empty string if it is missing or fails."""
    try:
        return subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def _to_float(text: str, default: float) -> float:
    try:
        return float(text)
    except ValueError:  # "[N/A]"
        return default
