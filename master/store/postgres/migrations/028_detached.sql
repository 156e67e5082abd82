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
