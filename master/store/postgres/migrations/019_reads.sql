-- Values of an experiment's configuration that are read with each of its trials and checkpoints.
-- The configuration is long, and would be parsed for each of them.
ALTER TABLE experiments
  ADD COLUMN searcher_name text GENERATED ALWAYS AS (config #>> '{searcher,name}') STORED,
  ADD COLUMN ranking_metric text GENERATED ALWAYS AS (
    coalesce(config #>> '{searcher,metric,0,name}', config #>> '{searcher,metric}')) STORED,
  ADD COLUMN smaller_is_better boolean GENERATED ALWAYS AS (
    coalesce(config #>> '{searcher,smaller_is_better}' = 'true', false)) STORED;

-- Counts experiments by project without reading their rows.
CREATE INDEX experiments_counted ON experiments (project, state, created_at);
