#!/usr/bin/env python3
"""Checks that the JSON Schema of the experiment configuration accepts and rejects the same
configurations as the parser, except for rules between several fields."""

import ast
import json
import subprocess
import unittest

import jsonschema
import yaml

SEARCHERS = """
{name: single, metric: m}
{name: single, metric: m, max_length: 3, source_trial_id: 1}
{name: single, metric: [a, {name: b, smaller_is_better: false}], max_trials: null}
{name: random, metric: m, max_trials: 3, max_concurrent_trials: 0, sampler: tpe}
{name: grid, metric: m}
{name: asha, metric: m, max_trials: 3, num_rungs: 2, max_length: {epochs: 3}, divisor: 3}
{name: async_halving, metric: m, max_trials: 3, num_rungs: 2, max_time: 9, time_metric: t}
{name: adaptive_asha, metric: m, max_trials: 3, mode: aggressive, bracket_rungs: [1, 2]}
{name: hyperband, metric: m, max_length: 9}
{name: tpe, metric: m, max_trials: 3}
{name: pbt, metric: m, max_length: 9, population_size: 4}
{name: custom, metric: m, max_concurrent_trials: 2}
"""

INVALID_SEARCHERS = """
{name: single}
{metric: m}
{name: best, metric: m}
{name: adaptive, metric: m}
{name: random, metric: m}
{name: random, metric: m, max_trials: null}
{name: random, metric: m, max_trials: 0}
{name: single, metric: m, max_trials: 3}
{name: single, metric: []}
{name: single, metric: [{nam: b}]}
{name: single, metric: m, max_length: {minutes: 3}}
{name: single, metric: m, max_length: {epochs: 3, batches: 1}}
{name: asha, metric: m, max_trials: 3, num_rungs: 2, divisor: 1}
{name: asha, metric: m, max_trials: 3}
{name: grid, metric: m, max_trials: 3}
{name: adaptive_asha, metric: m, max_trials: 3, mode: fast}
{name: adaptive_asha, metric: m, max_trials: 3, num_rungs: 2}
{name: pbt, metric: m, population_size: 1}
{name: random, metric: m, max_trails: 3, max_trials: 3}
single
"""

FIELDS = """
{version: 0, data_layer: [1], internal: null}
{description: null, labels: {a: true}, data: {any: [thing, {x: null}]}}
{labels: [a], workspace: w, project: p, max_restarts: 0}
{hyperparameters: {a: 1, b: [1], c: null, n: {x: {type: int, minval: 1, maxval: 2}}, e: {}}}
{hyperparameters: {a: {type: categorical, vals: [1]}, b: {type: const, val: {type: q}, when: {a: 1}}}}
{hyperparameters: {l: {type: log, minval: -1, maxval: 1.5, count: 3, when: {a: [1, x], b: {minval: 1}}}}}
{hyperparameters: {n: {when: {a: 1}, x: {type: double, minval: 0, maxval: 1}}}}
{resources: {shm_size: 4g, devices: ["a:b", {host_path: a, container_path: b, mode: r}], priority: 1}}
{resources: {agent_label: x, native_parallel: true, weight: 0.5}}
{resources: {slots_per_trial: 0, cpus: 0.5, memory: 4g, max_run_time: 1d 12h, blocked_agents: [a]}}
{resources: {slots_per_trial: 0.5, slot_type: cuda, device: H200, max_run_time: 3600}}
{resources: {slots_per_trial: {min: 2, max: 8}}}
{resources: {slots_per_trial: {max: 8}}}
{environment: {image: a, environment_variables: [A=1, B]}}
{environment: {image: {gpu: a, cpu: b}, environment_variables: {cuda: [A=1]}, ports: {a: 1}}}
{environment: {proxy_ports: [{proxy_port: 80, proxy_tcp: true}], pod_spec: {any: thing}}}
{checkpoint_storage: {host_path: /a, tensorboard_path: x, container_path: y}}
{checkpoint_storage: {type: directory, container_path: /a, save_trial_best: 3}}
{checkpoint_storage: {type: s3, bucket: b, access_key: k, secret_key: s}}
{checkpoint_storage: {type: azure, container: c, account_url: u}}
{bind_mounts: [{host_path: /a, container_path: /a, read_only: true, propagation: shared}]}
{log_policies: [{name: a, pattern: b, action: cancel_retries}, {pattern: c, action: {type: exclude_node}}]}
{retention_policy: {log_retention_days: -1}, preemption_timeout: 1, checkpoint_policy: all}
{optimizations: {mixed_precision: O2}, profiling: {enabled: true, end_after_batch: null}}
{slurm: {sbatch_args: [a]}, pbs: {slots_per_node: 2}, integrations: null}
{integrations: {webhooks: {webhook_id: [1]}, pachyderm: {dataset: {commit: a}}}}
{min_validation_period: 3, min_checkpoint_period: {records: 0}}
"""

INVALID_FIELDS = """
{verson: 0}
{version: 1}
{name: 3}
{labels: [1]}
{max_restarts: -1}
{max_restarts: 1.5}
{slots_per_trial: 1}
{hyperparameters: 3}
{hyperparameters: {a: {type: float, minval: 1, maxval: 2}}}
{hyperparameters: {a: {type: int, minval: 0.5, maxval: 2}}}
{hyperparameters: {a: {type: int, minval: 1}}}
{hyperparameters: {a: {type: categorical, vals: []}}}
{hyperparameters: {a: {type: const}}}
{hyperparameters: {a: {type: log, base: 0, minval: 1, maxval: 2}}}
{hyperparameters: {n: {a: {type: int, minval: 1, maxval: 2, vals: [1]}}}}
{hyperparameters: {a: {type: const, val: 1, when: {b: {}}}}}
{hyperparameters: {a: {type: const, val: 1, when: {b: []}}}}
{hyperparameters: {n: {when: 3}}}
{resources: {slots: 1}}
{resources: {priority: 100}}
{resources: {slots_per_trial: 1.5}}
{resources: {slots_per_trial: {min: 2}}}
{resources: {slots_per_trial: {min: 0, max: 2}}}
{resources: {slots_per_trial: {low: 1, max: 2}}}
{resources: {slot_type: gpu}}
{resources: {max_run_time: 2 fortnights}}
{resources: {memory: 4x}}
{resources: {shm_size: 4x}}
{resources: {devices: [a]}}
{resources: {devices: [{host_path: a}]}}
{environment: {environment_variables: [1]}}
{environment: {environment_variables: {tpu: []}}}
{environment: {image: {tpu: a}}}
{environment: {ports: {a: 70000}}}
{environment: {proxy_ports: [{proxy_port: 0}]}}
{checkpoint_storage: {type: ftp}}
{checkpoint_storage: {type: directory}}
{checkpoint_storage: {type: s3}}
{checkpoint_storage: {bucket: b}}
{checkpoint_storage: {type: gcs, bucket: b, access_key: k}}
{bind_mounts: [{host_path: /a}]}
{bind_mounts: [{host_path: /a, container_path: /a, propagation: wide}]}
{log_policies: [{name: a, action: reboot}]}
{retention_policy: {log_retention_days: -2}}
{optimizations: {mixed_precision: O4}}
{profiling: {enabled: yes please}}
{slurm: {pbsbatch_args: [a]}}
{integrations: {webhooks: {webhook_id: [a]}}}
{checkpoint_policy: some}
{min_validation_period: {batches: -1}}
"""


class SchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        schema = json.loads(subprocess.run(["tools/config_schema"], check=True,
                                           stdout=subprocess.PIPE).stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        cls.validator = jsonschema.Draft202012Validator(schema)

    def is_valid(self, config):
        return self.validator.is_valid(config)

    def check(self, lines, valid, make):
        lines = [line for line in lines.strip().splitlines() if line]
        self.assertGreater(len(lines), 10)
        for line in lines:
            with self.subTest(line):
                self.assertEqual(self.is_valid(make(yaml.safe_load(line))), valid)

    def test_accepts_valid_and_rejects_invalid_searchers(self):
        make = lambda searcher: {"entrypoint": "x", "searcher": searcher}
        self.check(SEARCHERS, True, make)
        self.check(INVALID_SEARCHERS, False, make)

    def test_accepts_valid_and_rejects_invalid_fields(self):
        base = {"entrypoint": ["x"], "searcher": {"name": "single", "metric": "m"}}
        make = lambda fields: {**base, **fields}
        self.check(FIELDS, True, make)
        self.check(INVALID_FIELDS, False, make)

    def test_rejects_configuration_without_required_fields(self):
        self.assertFalse(self.is_valid({}))
        self.assertFalse(self.is_valid({"entrypoint": "x"}))
        self.assertFalse(self.is_valid({"searcher": {"name": "single", "metric": "m"}}))
        self.assertFalse(self.is_valid([]))

    def test_accepts_the_example(self):
        with open("examples/fashion_mnist/const.yaml", encoding="utf-8") as file:
            self.assertTrue(self.is_valid(yaml.safe_load(file)))

    def test_python_package_has_the_same_optimizations(self):
        path = "trial_api/python/package/det/pytorch/distributed/optimizations.py"
        with open(path, encoding="utf-8") as file:
            names = ast.parse(file.read())
        [known] = [one.value for one in names.body if isinstance(one, ast.Assign)
                   and one.targets[0].id == "_NAMES"]
        [table, _] = self.validator.schema["properties"]["optimizations"]["anyOf"]
        self.assertEqual(sorted(table["properties"]), sorted(ast.literal_eval(known)))


if __name__ == "__main__":
    unittest.main()
