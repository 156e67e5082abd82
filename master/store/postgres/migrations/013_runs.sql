-- Runs can be searched by their hyperparameters, metrics and metadata. Besides the documents, the
-- values are stored one by one. Each row contains the project, so that a search reads only rows of
-- its projects.

-- The project of the trial's experiment, updated when that moves; 0: the experiment is deleted, and
-- the trial exists only because of its checkpoints.
ALTER TABLE trials ADD COLUMN project int NOT NULL DEFAULT 1;
UPDATE trials t SET project = CASE e.state WHEN 'DELETED' THEN 0 ELSE e.project END
  FROM experiments e
  WHERE e.id = t.experiment AND (e.project <> 1 OR e.state = 'DELETED');
-- Includes columns that never change and are often queried, so that the wide rows need not be read.
CREATE INDEX trials_project ON trials (project, id) INCLUDE (experiment, created_at);
CREATE INDEX experiments_archived ON experiments (id) WHERE archived;

-- Returns the values of a document by path: objects are flattened, lists are converted to text.
-- Paths that are too long for an index are omitted, long texts are truncated.
CREATE FUNCTION leaves(prefix text, doc json)
RETURNS TABLE (key text, number double precision, text text) LANGUAGE sql IMMUTABLE AS $$
  WITH RECURSIVE w (key, value) AS (
    SELECT prefix || '.' || e.key, e.value
    FROM json_each(CASE json_typeof(doc) WHEN 'object' THEN doc ELSE '{}' END) e
  UNION ALL
    SELECT w.key || '.' || e.key, e.value FROM w
    CROSS JOIN LATERAL
      json_each(CASE json_typeof(w.value) WHEN 'object' THEN w.value ELSE '{}' END) e
  )
  SELECT DISTINCT ON (w.key COLLATE "C") w.key,
    CASE json_typeof(w.value) WHEN 'number' THEN (w.value #>> '{}')::double precision END,
    CASE json_typeof(w.value) WHEN 'number' THEN NULL ELSE left(w.value #>> '{}', 500) END
  FROM w WHERE json_typeof(w.value) NOT IN ('object', 'null') AND octet_length(w.key) <= 200
  ORDER BY w.key COLLATE "C"
$$;

-- Hyperparameters ("hp.lr") and metadata ("metadata.a.b") of runs.
CREATE TABLE run_values (
  trial   int NOT NULL,
  key     text COLLATE "C" NOT NULL,
  project int NOT NULL,
  number  double precision,
  text    text COLLATE "C",
  PRIMARY KEY (trial, key)
);
CREATE TABLE run_metadata (
  trial    int PRIMARY KEY,
  metadata json NOT NULL
);
-- Summaries of all numbers that were reported under a name, in all attempts of the trial.
CREATE TABLE metric_summaries (
  trial      int NOT NULL,
  group_name text COLLATE "C" NOT NULL,
  metric     text COLLATE "C" NOT NULL,
  project    int NOT NULL,
  count      bigint NOT NULL,
  sum        double precision NOT NULL,
  min        double precision NOT NULL,
  max        double precision NOT NULL,
  last       double precision NOT NULL,
  last_run   int NOT NULL,
  last_steps bigint NOT NULL,
  PRIMARY KEY (trial, group_name, metric)
) WITH (fillfactor = 70);  -- each report updates rows; no indexed column changes

-- Returns the numbers of a report. Omits numbers that are too large to be added up, names that are
-- too long for an index, and reports with more than a thousand names.
CREATE FUNCTION numbers_of(metrics json)
RETURNS TABLE (metric text, number double precision) LANGUAGE sql IMMUTABLE AS $$
  SELECT m.metric, m.number FROM (
    SELECT e.key AS metric, (e.value #>> '{}')::double precision AS number, count(*) OVER () AS names
    FROM json_each(CASE json_typeof(metrics) WHEN 'object' THEN metrics ELSE '{}' END) e
    WHERE json_typeof(e.value) = 'number' AND octet_length(e.key) <= 200) m
  WHERE abs(m.number) <= 1e290 AND m.names <= 1000
$$;

INSERT INTO run_values (trial, key, project, number, text)
  SELECT t.id, l.key, t.project, l.number, l.text
  FROM trials t CROSS JOIN LATERAL leaves('hp', t.hparams) l WHERE t.project <> 0;
-- Earlier reports are summarized later, while the cluster is running: migration 015.

CREATE INDEX run_values_number ON run_values (project, key, number, trial);
CREATE INDEX run_values_text ON run_values (project, key, text, trial) WHERE text IS NOT NULL;
CREATE INDEX metric_summaries_project ON metric_summaries (project, group_name, metric, trial);

CREATE FUNCTION add_run_values() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO run_values (trial, key, project, number, text)
    SELECT NEW.id, l.key, NEW.project, l.number, l.text FROM leaves('hp', NEW.hparams) l
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER add_run_values AFTER INSERT ON trials
  FOR EACH ROW EXECUTE FUNCTION add_run_values();

-- The lock has an arbitrary number that no other lock uses. Writers of summaries share it. A move
-- of an experiment updates the rows of others, so it first waits for them, and never for a writer
-- that waits for it.
CREATE FUNCTION add_summaries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7241900303);
  INSERT INTO metric_summaries AS s (trial, group_name, metric, project, count, sum, min, max, last,
      last_run, last_steps)
    SELECT a.trial, a.group_name, n.metric,
      coalesce((SELECT t.project FROM trials t WHERE t.id = a.trial), 0),
      count(*), sum(n.number), min(n.number), max(n.number),
      (array_agg(n.number ORDER BY a.run_id DESC, a.steps DESC))[1],
      max(a.run_id), (array_agg(a.steps ORDER BY a.run_id DESC, a.steps DESC))[1]
    FROM added a CROSS JOIN LATERAL numbers_of(a.metrics) n
    GROUP BY a.trial, a.group_name, n.metric
    ORDER BY a.trial, a.group_name, n.metric
  ON CONFLICT (trial, group_name, metric) DO UPDATE SET
    count = s.count + excluded.count, sum = s.sum + excluded.sum,
    min = least(s.min, excluded.min), max = greatest(s.max, excluded.max),
    last = CASE WHEN (excluded.last_run, excluded.last_steps) >= (s.last_run, s.last_steps)
      THEN excluded.last ELSE s.last END,
    last_run = greatest(s.last_run, excluded.last_run),
    last_steps = CASE WHEN (excluded.last_run, excluded.last_steps) >= (s.last_run, s.last_steps)
      THEN excluded.last_steps ELSE s.last_steps END;
  RETURN NULL;
END $$;
CREATE TRIGGER add_summaries AFTER INSERT ON metrics REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION add_summaries();

CREATE FUNCTION follow_project() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(7241900303);
  UPDATE run_values v SET project = NEW.project FROM trials t
    WHERE t.experiment = NEW.id AND v.trial = t.id;
  UPDATE metric_summaries s SET project = NEW.project FROM trials t
    WHERE t.experiment = NEW.id AND s.trial = t.id;
  UPDATE trials SET project = NEW.project WHERE experiment = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER follow_project AFTER UPDATE OF project ON experiments
  FOR EACH ROW WHEN (OLD.project <> NEW.project) EXECUTE FUNCTION follow_project();
