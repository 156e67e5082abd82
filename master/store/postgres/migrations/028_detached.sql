-- Detached mode: experiments and trials that run outside of the cluster and only report to it. The
-- external IDs are those by which programs outside of the cluster know them. `last_activity`: the
-- last sign of life of an unmanaged trial.
ALTER TABLE experiments
  ADD COLUMN unmanaged   boolean NOT NULL DEFAULT false,
  ADD COLUMN external_id text COLLATE "C";
ALTER TABLE trials
  ADD COLUMN external_id   text COLLATE "C",
  ADD COLUMN last_activity timestamptz;
CREATE UNIQUE INDEX experiments_external ON experiments (external_id)
  WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX trials_external ON trials (experiment, external_id)
  WHERE external_id IS NOT NULL;
CREATE INDEX trials_active ON trials (last_activity)
  WHERE last_activity IS NOT NULL AND state = 'RUNNING';

DROP INDEX experiments_live;
CREATE INDEX experiments_live ON experiments (id)
  WHERE state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED', 'DELETED')
    AND NOT unmanaged;

-- The storages of the checkpoints of unmanaged trials, each once; the configuration has sorted keys.
CREATE TABLE checkpoint_storages (
  id     serial PRIMARY KEY,
  config json NOT NULL
);
CREATE UNIQUE INDEX checkpoint_storages_config ON checkpoint_storages (md5(config::text));
ALTER TABLE checkpoints ADD COLUMN storage int;

-- The checkpoints that trials use: for inference or fine-tuning.
CREATE TABLE trial_sources (
  trial      int NOT NULL,
  checkpoint text COLLATE "C" NOT NULL,
  type       text NOT NULL,
  model      int,
  version    int,
  PRIMARY KEY (trial, checkpoint, type)
);
CREATE INDEX trial_sources_checkpoint ON trial_sources (checkpoint);

-- Adds names to a report that exists, and adds their numbers to the summaries and peaks, which an
-- update of `metrics` does not change.
CREATE FUNCTION extend_report(of_trial int, of_group text, of_steps bigint, of_run int,
  all_metrics json, new_metrics json, new_batch json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE metrics SET metrics = all_metrics, batch = coalesce(batch, new_batch)
    WHERE trial = of_trial AND group_name = of_group AND steps = of_steps AND run_id = of_run;
  PERFORM pg_advisory_xact_lock_shared(7241900303);
  PERFORM FROM unsummarized WHERE trial = of_trial FOR KEY SHARE;
  IF FOUND THEN RETURN; END IF;
  INSERT INTO metric_summaries AS s (trial, group_name, metric, project, count, sum, min, max, last,
      last_run, last_steps)
    SELECT of_trial, of_group, n.metric,
      coalesce((SELECT t.project FROM trials t WHERE t.id = of_trial), 0),
      1, n.number, n.number, n.number, n.number, of_run, of_steps
    FROM numbers_of(new_metrics) n ORDER BY n.metric COLLATE "C"
  ON CONFLICT (trial, group_name, metric) DO UPDATE SET
    count = s.count + 1, sum = s.sum + excluded.sum,
    min = least(s.min, excluded.min), max = greatest(s.max, excluded.max),
    last = CASE WHEN (excluded.last_run, excluded.last_steps) >= (s.last_run, s.last_steps)
      THEN excluded.last ELSE s.last END,
    last_run = greatest(s.last_run, excluded.last_run),
    last_steps = CASE WHEN (excluded.last_run, excluded.last_steps) >= (s.last_run, s.last_steps)
      THEN excluded.last_steps ELSE s.last_steps END;
  INSERT INTO metric_peaks AS p (trial, group_name, metric, place, low, low_steps, high, high_steps)
    SELECT of_trial, of_group, n.metric, of_steps / s.portion, n.number, of_steps, n.number, of_steps
    FROM numbers_of(new_metrics) n JOIN metric_summaries s
      ON s.trial = of_trial AND s.group_name = of_group AND s.metric = n.metric AND s.portion > 0
    ORDER BY n.metric COLLATE "C"
  ON CONFLICT (trial, group_name, metric, place) DO UPDATE SET
    low = least(p.low, excluded.low),
    low_steps = CASE WHEN excluded.low < p.low THEN excluded.low_steps ELSE p.low_steps END,
    high = greatest(p.high, excluded.high),
    high_steps = CASE WHEN excluded.high > p.high THEN excluded.high_steps ELSE p.high_steps END;
END $$;
