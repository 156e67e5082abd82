-- Adds to the data of tests/bench/api/fill.sql an experiment of 500 trials with 1,000 validations
-- each, and one whose trial has :points reports. The rows that triggers would write one by one are
-- written in bulk.

BEGIN;
ALTER TABLE metrics DISABLE TRIGGER add_summaries;

INSERT INTO experiments (id, name, job, owner, request_id, config, original_config, context_hash, state,
    reason, progress, best_metric, best_trial, created_at, ended_at, owner_name, position, retained,
    project, description, labels)
  SELECT n, CASE n WHEN 20001 THEN 'curves' ELSE 'long' END, 'exp-' || n, 1, '', e.config,
    e.original_config, e.context_hash, 'COMPLETED', '', 1, 0.1,
    CASE n WHEN 20001 THEN 300001 ELSE 400001 END, now() - interval '2 days',
    now() - interval '1 day', 'admin', n, true, 2, '', '[]'
  FROM generate_series(20001, 20002) n, experiments e WHERE e.id = 1;

INSERT INTO trials (id, experiment, request, task, seed, hparams, state, reason, restarts, run_id,
    steps_completed, progress, runner_state, best_metric, latest_metric, best_steps, created_at, ended_at,
    project)
  SELECT id, experiment, 'r' || id, experiment || '.' || id, 1, json_build_object('lr', id % 1000 / 1000.0),
    'COMPLETED', '', 0, 0, steps, 1, '', 0.1 + id % 499 / 1000.0, 0.2, steps, now() - interval '2 days',
    now() - interval '1 day', 2
  FROM (SELECT 300000 + i AS id, 20001 AS experiment, 100000 AS steps FROM generate_series(1, 500) i
        UNION ALL SELECT 400001, 20002, :points) made;

INSERT INTO metrics (trial, group_name, steps, run_id, time, metrics)
  SELECT t.id, 'validation', 100 * s, 0, t.created_at + s * interval '1 second',
    json_build_object('loss', t.id % 97 / 97.0 + 2 * exp(-s / 200.0) + 0.1 * ((s * 7919 + t.id) % 1000) / 1000)
  FROM generate_series(1, 1000) s, trials t WHERE t.experiment = 20001;
INSERT INTO metrics (trial, group_name, steps, run_id, time, metrics)
  SELECT 400001, 'training', s, 0, now() - interval '2 days' + s * interval '8 milliseconds',
    json_build_object('loss', 1 + 2 * exp(-s / 200000.0) + 0.1 * (s::bigint * 7919 % 1000) / 1000)
  FROM generate_series(1, :points) s;
INSERT INTO metric_summaries (trial, group_name, metric, project, count, sum, min, max, last, last_run,
    last_steps)
  SELECT m.trial, m.group_name, 'loss', 2, count(*), sum((m.metrics->>'loss')::float8),
    min((m.metrics->>'loss')::float8), max((m.metrics->>'loss')::float8), 1, 0, max(m.steps)
  FROM metrics m WHERE m.trial > 300000 GROUP BY m.trial, m.group_name;

ALTER TABLE metrics ENABLE TRIGGER add_summaries;
COMMIT;
ANALYZE metrics, trials, experiments, metric_summaries;
