"""Training on two ranks compared to one."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import scenarios
import torch
from det._ports import free_ports

TIMEOUT = 300  # Seconds.


def run_on_two_ranks(names, storage):
    """Returns what each scenario returned on each rank: {name: [rank 0, rank 1]}."""
    return run_on_ranks(2, names, storage)


def run_on_ranks(size, names, storage, nodes=1):
    """Runs scenarios on `size` ranks, divided among simulated nodes; see run_on_two_ranks()."""
    local_size = size // nodes
    ports = free_ports(2)
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scenarios.py")
    ranks, outputs = [], []
    for rank in range(size):
        env = dict(
            os.environ, RANK=str(rank), LOCAL_RANK=str(rank % local_size), WORLD_SIZE=str(size)
        )
        env.update(LOCAL_WORLD_SIZE=str(local_size), GROUP_RANK=str(rank // local_size))
        env.update(GROUP_WORLD_SIZE=str(nodes), MASTER_ADDR="127.0.0.1")
        env.update(MASTER_PORT=str(ports[0]), INTER_TRAIN_PROCESS_COMM_PORT_1=str(ports[1]))
        env.setdefault("DET_RANK_KEY", "of the test")
        outputs.append(os.path.join(storage, f"rank-{rank}.json"))
        command = [sys.executable, "-B", program, storage, outputs[-1], *names]
        ranks.append(subprocess.Popen(command, env=env))
    codes = wait_for_exits(ranks)
    if any(codes):
        raise AssertionError(f"ranks exited with codes {codes}; see the output above")
    results = []
    for path in outputs:
        with open(path, encoding="utf-8") as file:
            results.append(json.load(file))
    return {name: [rank[name] for rank in results] for name in names}


def wait_for_exits(ranks):
    """Returns the exit codes. If a rank fails, kills the others, which would wait for it."""
    wait, codes = threading.Semaphore(0), [None] * len(ranks)

    def watch(number):
        codes[number] = ranks[number].wait()
        wait.release()

    for number in range(len(ranks)):
        threading.Thread(target=watch, args=(number,), daemon=True).start()
    try:
        for _ in ranks:
            if not wait.acquire(timeout=TIMEOUT):
                raise AssertionError(f"ranks did not exit within {TIMEOUT} s; exit codes: {codes}")
            if any(codes):
                break
    finally:
        for process in ranks:
            process.kill()
            process.wait()
    return codes


class TwoRanksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.save_on_one_rank = scenarios.save_on_one_rank(cls.folder.name)
        cls.two = run_on_two_ranks(list(scenarios.SCENARIOS), cls.folder.name)

    def assert_close(self, weights, other):
        self.assertEqual(set(weights), set(other))
        for name, numbers in weights.items():
            torch.testing.assert_close(
                torch.tensor(numbers), torch.tensor(other[name]), rtol=1e-4, atol=1e-6
            )

    def test_two_ranks_train_to_the_weights_of_one(self):
        one_rank = scenarios.fifty_steps()
        for two in self.two["fifty_steps"]:
            self.assert_close(two["weights"], one_rank["weights"])
        reports, expected = self.two["fifty_steps"][0]["reports"], one_rank["reports"]
        self.assertEqual([r[:2] for r in reports], [list(r[:2]) for r in expected])
        for (*_, metrics), (*_, reference) in zip(reports, expected):
            for name, value in reference.items():
                self.assertAlmostEqual(metrics[name], value, delta=1e-4 * abs(value))

    def test_compressed_gradients_lead_to_nearly_equal_weights(self):
        one_rank = scenarios.fifty_steps()["weights"]
        left, right = self.two["compressed"]
        for form, results in left.items():
            self.assertEqual(results["weights"], right[form]["weights"])
            self.assertNotEqual(results["weights"], self.two["fifty_steps"][0]["weights"])
            for name, numbers in results["weights"].items():
                torch.testing.assert_close(
                    torch.tensor(numbers), torch.tensor(one_rank[name]), rtol=0.02, atol=0.02
                )

    def test_two_ranks_train_to_the_weights_of_one_from_an_iterable_dataset(self):
        one_rank = scenarios.stream()
        for two in self.two["stream"]:
            self.assert_close(two["weights"], one_rank["weights"])

    def test_two_ranks_resume_from_one_and_one_from_two(self):
        [two, _] = self.two["elastic"]
        self.assertEqual(two["steps"], 20)
        one_rank = scenarios.resume_on_one_rank(self.folder.name, two["uuid"])
        uninterrupted = scenarios.elastic_uninterrupted()
        self.assert_close(one_rank["weights"], uninterrupted["weights"])
        self.assertEqual(one_rank["steps"], 30)

    def test_resumed_run_equals_uninterrupted_run_to_the_last_bit(self):
        for name in ("resumed", "resumed_in_bytes"):  # The second one has rounding errors.
            for rank in self.two[name]:
                self.assertEqual(rank["first"], rank["uninterrupted"][: len(rank["first"])])
                self.assertEqual(rank["first"] + rank["second"], rank["uninterrupted"])
                self.assertEqual(rank["weights"], rank["uninterrupted_weights"])
        left, right = self.two["resumed"]
        self.assertNotEqual(left["drawn"], right["drawn"])

    def test_both_ranks_stop_after_the_same_batch_at_most_one_late(self):
        left, right = self.two["preempted"]
        self.assertEqual(left["steps"], right["steps"])
        self.assertIn(left["steps"], (7, 8))
        self.assertTrue(left["acknowledged"])

    def test_any_rank_may_request_to_stop(self):
        left, right = self.two["stop_on_second_rank"]
        self.assertEqual(left["steps"], right["steps"])
        self.assertIn(left["steps"], (5, 6))

    def test_all_ranks_stop_where_a_callback_of_one_requests_it(self):
        left, right = self.two["stop_in_callback_of_second_rank"]
        self.assertEqual((left["steps"], right["steps"]), (10, 10))
        validated = [steps for group, steps, _ in left["reports"] if group == "validation"]
        self.assertEqual(validated, [5, 10])
        self.assertIsNotNone(left["uuid"])

    def test_reducers_see_all_ranks(self):
        [metrics, _] = self.two["reduced"]
        self.assertEqual(metrics, {"training": 100, "validation": 37, "full": 37})

    def test_rejects_ranks_with_different_numbers_of_batches(self):
        for message in self.two["uneven"]:
            self.assertIn("5 batches an epoch on rank 0 and 7 on rank 1", message)

    def test_epoch_of_unknown_length_ends_with_the_first_rank_without_data(self):
        left, right = self.two["uneven_and_unknown"]
        self.assertEqual((left["steps"], right["steps"]), (10, 10))
        self.assertEqual(left["weights"], right["weights"])

    def test_supports_loss_of_two_forward_passes_with_running_means(self):
        left, right = self.two["two_passes"]
        self.assertEqual(8, left["steps"])
        self.assertEqual(left["weights"], right["weights"])  # They include the running means.

    def test_handles_parameters_that_a_batch_does_not_use(self):
        one_rank = scenarios.unused()
        self.assertIsNone(one_rank["message"])
        for two in self.two["unused"]:
            self.assert_close(two["weights"], one_rank["weights"])
            self.assertIn(
                "no gradient of heads.1.weight, heads.1.bias, and the slots", two["message"]
            )

    def test_resumes_a_model_whose_buckets_cannot_be_rebuilt(self):
        left, right = self.two["other_buckets"]
        self.assertEqual(left, right)
        self.assert_close(left["finds"], left["uninterrupted"])

    def test_ignores_forward_pass_of_a_part_of_the_model(self):
        left, right = self.two["partial_forward"]
        self.assertEqual((4, left["weights"]), (left["steps"], right["weights"]))

    def test_aggregated_batches_equal_one_batch(self):
        one_rank = scenarios.aggregated_as_one()
        for two in self.two["aggregated"]:
            self.assert_close(two["weights"], one_rank["weights"])
