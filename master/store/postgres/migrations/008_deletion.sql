-- Experiments that have ended: archived, thinned out, deleted.

-- What is known of a checkpoint stays when its files are gone.
ALTER TABLE checkpoints ADD COLUMN state text COLLATE "C" NOT NULL DEFAULT 'COMPLETED';
CREATE INDEX checkpoints_doomed ON checkpoints (id) WHERE state = 'DELETING';

-- How many checkpoints are kept: these, not those of the configuration, which never changes.
-- `retained`: since its end, or since the policy changed, the others were given up. Experiments that
-- ended before this was here stay as they are until somebody asks.
ALTER TABLE experiments
  ADD COLUMN archived             boolean NOT NULL DEFAULT false,
  ADD COLUMN retained             boolean NOT NULL DEFAULT false,
  ADD COLUMN save_experiment_best int NOT NULL DEFAULT 0,
  ADD COLUMN save_trial_best      int NOT NULL DEFAULT 1,
  ADD COLUMN save_trial_latest    int NOT NULL DEFAULT 1;
UPDATE experiments SET
  retained             = state IN ('COMPLETED', 'CANCELED', 'ERROR'),
  save_experiment_best = coalesce((config #>> '{checkpoint_storage,save_experiment_best}')::int, 0),
  save_trial_best      = coalesce((config #>> '{checkpoint_storage,save_trial_best}')::int, 1),
  save_trial_latest    = coalesce((config #>> '{checkpoint_storage,save_trial_latest}')::int, 1);
CREATE INDEX experiments_due ON experiments (id) WHERE NOT retained;
CREATE INDEX experiments_deletion ON experiments (id)
  WHERE state IN ('DELETING', 'DELETE_FAILED', 'DELETED');

DROP INDEX experiments_live;
CREATE INDEX experiments_live ON experiments (id)
  WHERE state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED', 'DELETED');

-- Whose files stay, whatever is deleted, and who needs them. The one place that says so.
CREATE VIEW held_checkpoints (checkpoint, holder) AS
  SELECT e.warm_start, 'experiment ' || e.id FROM experiments e
  WHERE e.warm_start IS NOT NULL AND e.state NOT IN ('DELETING', 'DELETE_FAILED', 'DELETED')
UNION
  SELECT s.checkpoint, 'trial ' || t.id
  FROM experiments e JOIN trials t ON t.experiment = e.id
  CROSS JOIN LATERAL (VALUES (t.latest_checkpoint), (t.warm_start)) s (checkpoint)
  WHERE s.checkpoint IS NOT NULL AND e.state NOT IN
    ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED', 'DELETED');

-- What outlives the rows it was read from: ids are not given twice, and what was used of a month's
-- slot hours stays used.
CREATE TABLE highest_deleted (
  one        boolean PRIMARY KEY DEFAULT true CHECK (one),
  experiment int NOT NULL,
  trial      int NOT NULL,
  submitted  bigint NOT NULL
);
INSERT INTO highest_deleted (experiment, trial, submitted) VALUES (0, 0, 0);
CREATE TABLE deleted_usage (
  owner      text NOT NULL,
  workspace  text NOT NULL,
  began_at   timestamptz NOT NULL,
  ended_at   timestamptz NOT NULL,
  slots      double precision NOT NULL  -- fractions as such
);
CREATE INDEX deleted_usage_ended ON deleted_usage (ended_at);
