"""Reports how busy this machine is, as metrics of the groups cpu, memory, disk, network and gpu."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time

from det._errors import MasterError
from det.core._train import TrainContext

_SECTOR = 512
Sample = dict[str, dict[str, float]]  # group -> metric -> value


class ProfilerContext:
    """Samples the machine of the chief from on() to off()."""

    def __init__(self, train: TrainContext, enabled: bool) -> None:
        self._train = train
        self._enabled = enabled
        self._number = 0  # The number of reports, which are numbered instead of the batches.
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def on(self, sampling_interval: float = 1, samples_per_report: int = 10) -> None:
        """Starts sampling.

        Does nothing if it has started, on other ranks than the chief, and off the cluster.

        Args:
            sampling_interval: The seconds between samples, at least 0.1.
            samples_per_report: The number of samples whose mean is reported.

        Raises:
            ValueError: An argument is too small.
        """
        if sampling_interval < 0.1 or samples_per_report < 1:
            raise ValueError(
                "sampling_interval must be at least 0.1 s, samples_per_report at least 1"
            )
        if not self._enabled or self._thread is not None:
            return
        self._stop.clear()
        self._thread = threading.Thread(
            target=self._run,
            args=(sampling_interval, samples_per_report),
            name="det-profiler",
            daemon=True,
        )
        self._thread.start()

    def off(self) -> None:
        """Stops sampling."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    def _run(self, interval: float, count: int) -> None:
        machine = Machine()
        while True:
            samples: list[Sample] = []
            while len(samples) < count:
                if self._stop.wait(interval):
                    return
                samples.append(machine.sample())
            self._number += 1
            try:
                for group, metrics in mean(samples).items():
                    self._train.report_metrics(group, self._number, metrics)
            except MasterError:
                return  # The next report of the training raises it.


class Machine:
    """Reads Linux's counters; those that do not exist are left out."""

    def __init__(self) -> None:
        self._last = self._counters()
        self._nvidia = shutil.which("nvidia-smi")

    def sample(self) -> Sample:
        """Returns the rates since the previous sample, and the state of now."""
        before, now = self._last, self._counters()
        self._last = now
        seconds = max(now[0] - before[0], 1e-6)
        delta = {name: now[1][name] - before[1].get(name, 0) for name in now[1]}
        cpu = max(delta.get("cpu_total", 0), 1)
        sample: Sample = {
            "cpu": {"cpu_util_simple": 100 * (1 - delta.get("cpu_idle", 0) / cpu)},
            "disk": {
                "disk_throughput_read": delta.get("disk_read", 0) / seconds,
                "disk_throughput_write": delta.get("disk_write", 0) / seconds,
            },
            "network": {
                "net_throughput_recv": delta.get("net_recv", 0) / seconds,
                "net_throughput_sent": delta.get("net_sent", 0) / seconds,
            },
            "memory": {"memory_free": _free_memory() / 2**30},
        }
        if self._nvidia:
            sample["gpu"] = self._gpus()
        return sample

    def _counters(self) -> tuple[float, dict[str, float]]:
        values: dict[str, float] = {}
        for line in _lines("/proc/stat")[:1]:
            ticks = [int(field) for field in line.split()[1:9]]
            values["cpu_total"], values["cpu_idle"] = sum(ticks), ticks[3] + ticks[4]
        for line in _lines("/proc/diskstats"):
            fields = line.split()
            if os.path.exists(f"/sys/block/{fields[2]}"):
                values["disk_read"] = values.get("disk_read", 0) + int(fields[5]) * _SECTOR
                values["disk_write"] = values.get("disk_write", 0) + int(fields[9]) * _SECTOR
        for line in _lines("/proc/net/dev")[2:]:
            name, _, rest = line.partition(":")
            if name.strip() != "lo":
                numbers = rest.split()
                values["net_recv"] = values.get("net_recv", 0) + int(numbers[0])
                values["net_sent"] = values.get("net_sent", 0) + int(numbers[8])
        return time.monotonic(), values

    def _gpus(self) -> dict[str, float]:
        assert self._nvidia is not None
        query = "--query-gpu=uuid,utilization.gpu,memory.free"
        out = subprocess.run(
            [self._nvidia, query, "--format=csv,noheader,nounits"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            check=False,
        ).stdout
        values = {}
        for line in out.splitlines():
            uuid, util, free = (field.strip() for field in line.split(","))
            values[f"{uuid}/gpu_util"], values[f"{uuid}/gpu_free_memory"] = float(util), float(free)
        return values


def mean(samples: list[Sample]) -> Sample:
    """Returns the mean of each metric over the samples that have it."""
    result: Sample = {}
    for group in {group for sample in samples for group in sample}:
        of_group = [sample[group] for sample in samples if group in sample]
        for name in {name for metrics in of_group for name in metrics}:
            values = [metrics[name] for metrics in of_group if name in metrics]
            result.setdefault(group, {})[name] = sum(values) / len(values)
    return result


def _free_memory() -> float:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return float(line.split()[1]) * 1024
    return 0


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except OSError:
        return []
