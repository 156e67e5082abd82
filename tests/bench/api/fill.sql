-- Inserts 10,000 experiments with 10 trials each in ten projects, each trial with 40 training
-- reports and 10 validation reports of 4 values: 20 million values. Experiment 1, which a master
-- created, is the template. The rows that triggers would write one by one are written in bulk with
-- the same functions. Also inserts models, their versions, and webhooks.

SET work_mem = '1GB';
ALTER TABLE metrics DISABLE TRIGGER add_summaries;
ALTER TABLE trials DISABLE TRIGGER add_run_values;

INSERT INTO workspaces (name, owner) SELECT 'workspace ' || n, 1 FROM generate_series(1, 5) n;
INSERT INTO projects (workspace, name, key, owner)
  SELECT 2 + n % 5, 'project ' || n, 'B' || n, 1 FROM generate_series(1, 10) n;

INSERT INTO experiments (id, name, job, owner, request_id, config, original_config, context_hash, state,
    reason, progress, best_metric, best_trial, created_at, ended_at, owner_name, position, retained,
    project, description, labels)
  SELECT n, 'experiment ' || n, 'exp-' || n, 1, '', e.config, e.original_config, e.context_hash,
    (ARRAY['COMPLETED', 'COMPLETED', 'COMPLETED', 'CANCELED', 'ERROR'])[1 + n % 5], '', 1,
    0.1 + (n % 97) / 100.0, 100000 + n * 10, now() - n * interval '3 minutes',
    now() - n * interval '3 minutes' + interval '1 hour', 'admin', n, true, 2 + n % 10,
    CASE n % 3 WHEN 0 THEN 'the third' ELSE '' END,
    jsonb_build_array('label ' || n % 7, 'label ' || n % 11)
  FROM generate_series(2, 10001) n, experiments e WHERE e.id = 1;

-- Trial IDs of experiment n: 100000 + 10 n to 100000 + 10 n + 9.
INSERT INTO trials (id, experiment, request, task, seed, hparams, state, reason, restarts, run_id,
    steps_completed, progress, runner_state, best_metric, latest_metric, best_steps, created_at, ended_at,
    project, latest_checkpoint)
  SELECT 100000 + 10 * e.id + i, e.id, 'r' || i, e.id || '.' || (100000 + 10 * e.id + i), i,
    json_build_object('lr', 0.0001 * (1 + (e.id * 7 + i * 13) % 1000), 'dropout', (i % 10) / 10.0,
      'optimizer', json_build_object('name', (ARRAY['sgd', 'adam', 'lamb'])[1 + i % 3],
        'momentum', 0.9 + i / 100.0), 'global_batch_size', 32 * (1 + i % 4)),
    e.state, '', 0, 0, 4000, 1, '', 0.1 + ((e.id * 31 + i * 17) % 997) / 1000.0,
    0.2 + ((e.id * 31 + i * 17) % 997) / 1000.0, 4000, e.created_at, e.ended_at, e.project,
    md5(e.id || ' ' || i || ' 2')::uuid::text
  FROM experiments e, generate_series(0, 9) i WHERE e.id > 1;
INSERT INTO run_values (trial, key, project, number, text)
  SELECT t.id, l.key, t.project, l.number, l.text
  FROM trials t CROSS JOIN LATERAL leaves('hp', t.hparams) l WHERE t.experiment > 1;

INSERT INTO allocations (id, task, trial, run_id, job, slots, submitted, state, shares, preemption_acked,
    preemption_reason, reported, reported_message, exit_reason, exit_message, exit_code, queued_at,
    started_at, ended_at, granted)
  SELECT t.task || '.0', t.task, t.id, 0, 'exp-' || t.experiment, 1, t.id, 'TERMINATED', '[]', false, '',
    'NONE', '', 'FINISHED', '', 0, t.created_at, t.created_at, t.ended_at, 1
  FROM trials t WHERE t.experiment > 1;
INSERT INTO checkpoints (id, trial, allocation, steps, resources, size, metadata, time)
  SELECT md5(t.experiment || ' ' || t.id % 10 || ' ' || i)::uuid::text, t.id, t.task || '.0', 2000 * i,
    '{"model.pt":1000000,"metadata.json":200}', 1000200, '{"steps_completed":1}', t.ended_at
  FROM trials t, generate_series(1, 2) i WHERE t.experiment > 1;
INSERT INTO task_logs (task, allocation, agent, sequence, time, rank, level, stdtype, source, text)
  SELECT t.task, t.task || '.0', 'agent-' || t.id % 50, i, t.created_at + i * interval '1 second', 0, 3,
    'stdout', 'task', 'batch ' || i || ': loss 0.123456 accuracy 0.9123'
  FROM trials t, generate_series(1, 10) i WHERE t.experiment > 1;

-- In the order in which they would arrive: by step, not by trial.
INSERT INTO metrics (trial, group_name, steps, run_id, time, metrics)
  SELECT t.id, 'training', 100 * s, 0, t.created_at + s * interval '1 minute',
    json_build_object('loss', 1.0 / s + (t.id % 89) / 100.0, 'accuracy', 1 - 1.0 / (s + 1 + t.id % 7),
      'lr', 0.001 / s, 'grad_norm', 3.0 + (s * t.id) % 100 / 50.0)
  FROM generate_series(1, 40) s, trials t WHERE t.experiment > 1;
INSERT INTO metrics (trial, group_name, steps, run_id, time, metrics)
  SELECT t.id, 'validation', 400 * s, 0, t.created_at + s * interval '4 minutes',
    json_build_object('loss', 1.1 / s + (t.id % 89) / 100.0, 'accuracy', 1 - 1.0 / (s + 1 + t.id % 7),
      'f1', 0.5 + s / 30.0, 'auc', 0.6 + s / 40.0)
  FROM generate_series(1, 10) s, trials t WHERE t.experiment > 1;
INSERT INTO metric_summaries (trial, group_name, metric, project, count, sum, min, max, last, last_run,
    last_steps)
  SELECT m.trial, m.group_name, n.metric, min(t.project), count(*), sum(n.number), min(n.number),
    max(n.number), max(n.number) FILTER (WHERE m.steps = 4000), 0, max(m.steps)
  FROM metrics m JOIN trials t ON t.id = m.trial CROSS JOIN LATERAL numbers_of(m.metrics) n
  WHERE t.experiment > 1 GROUP BY m.trial, m.group_name, n.metric;
INSERT INTO run_metadata (trial, metadata)
  SELECT id, json_build_object('team', 'team ' || id % 9, 'data', json_build_object('version', id % 5))
  FROM trials WHERE experiment > 1 AND id % 4 = 0;
INSERT INTO run_values (trial, key, project, number, text)
  SELECT t.id, l.key, t.project, l.number, l.text
  FROM run_metadata d JOIN trials t ON t.id = d.trial
  CROSS JOIN LATERAL leaves('metadata', d.metadata) l;

-- 50 models with 20 versions each, and one webhook per workspace.
INSERT INTO models (name, workspace, owner, created_at, updated_at, last_number, labels)
  SELECT 'model ' || n, 2 + n % 5, 1, now(), now(), 20, jsonb_build_array('label ' || n % 7)
  FROM generate_series(1, 50) n;
INSERT INTO model_versions (model, version, checkpoint, owner, created_at, updated_at)
  SELECT m.id, v, md5(1000 + m.id * 20 + v || ' 3 2')::uuid::text, 1, now(), now()
  FROM models m, generate_series(1, 20) v;
INSERT INTO webhooks (workspace, name, url, type, mode)
  SELECT 2 + n % 5, 'webhook ' || n, 'https://example.com/' || n, 'DEFAULT', 'WORKSPACE'
  FROM generate_series(1, 20) n;
INSERT INTO webhook_triggers (webhook, type, condition)
  SELECT id, 'EXPERIMENT_STATE_CHANGE', '{"state": "COMPLETED"}' FROM webhooks;

ALTER TABLE metrics ENABLE TRIGGER add_summaries;
ALTER TABLE trials ENABLE TRIGGER add_run_values;
