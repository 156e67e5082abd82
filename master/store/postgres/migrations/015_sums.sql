-- Trials with reports from before summaries existed (013). Their summaries are computed in portions
-- (sum_up) while the cluster is running, because computing all at once takes minutes; until then
-- their new reports are not added.
CREATE TABLE unsummarized (trial int PRIMARY KEY);
INSERT INTO unsummarized (trial)
  SELECT t.id FROM trials t
  CROSS JOIN LATERAL (SELECT FROM metrics m WHERE m.trial = t.id LIMIT 1) m
  WHERE t.project <> 0 AND NOT EXISTS (SELECT FROM metric_summaries s WHERE s.trial = t.id);

-- Returns the summaries of all reports of these trials.
CREATE FUNCTION summaries_of(trials int[])
RETURNS TABLE (trial int, group_name text, metric text, count bigint, sum double precision,
  min double precision, max double precision, last double precision, last_run int,
  last_steps bigint) LANGUAGE sql STABLE AS $$
  SELECT DISTINCT ON (m.trial, m.group_name, n.metric COLLATE "C") m.trial, m.group_name, n.metric,
    count(*) OVER name, sum(n.number) OVER name, min(n.number) OVER name, max(n.number) OVER name,
    n.number, m.run_id, m.steps
  FROM metrics m CROSS JOIN LATERAL numbers_of(m.metrics) n WHERE m.trial = ANY(trials)
  WINDOW name AS (PARTITION BY m.trial, m.group_name, n.metric COLLATE "C")
  ORDER BY m.trial, m.group_name, n.metric COLLATE "C", m.run_id DESC, m.steps DESC
$$;

-- Computes the summaries of at most `most` trials, newest first and running ones last, and returns
-- how many. A concurrent report of one of these trials waits and is then added to the summaries; an
-- earlier report in progress is waited for.
CREATE FUNCTION sum_up(most int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  chosen int[];
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7241900303);
  -- Locks in the same order as add_summaries().
  SELECT array_agg(u.trial) INTO chosen FROM (
    SELECT trial FROM unsummarized WHERE trial IN (
      SELECT n.trial FROM unsummarized n LEFT JOIN trials t ON t.id = n.trial
      ORDER BY t.state IN ('COMPLETED', 'CANCELED', 'ERROR') DESC, n.trial DESC LIMIT most)
    ORDER BY trial FOR UPDATE) u;
  INSERT INTO metric_summaries (trial, group_name, metric, project, count, sum, min, max, last,
      last_run, last_steps)
    SELECT s.trial, s.group_name, s.metric, t.project, s.count, s.sum, s.min, s.max, s.last,
      s.last_run, s.last_steps
    FROM summaries_of(chosen) s JOIN trials t ON t.id = s.trial AND t.project <> 0;
  DELETE FROM unsummarized WHERE trial = ANY(chosen);
  RETURN coalesce(cardinality(chosen), 0);
END $$;

-- The function of 013, which now skips those trials, and reads each trial and sorts its numbers only once.
CREATE OR REPLACE FUNCTION add_summaries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7241900303);
  IF EXISTS (SELECT FROM unsummarized) THEN
    PERFORM FROM unsummarized WHERE trial IN (SELECT a.trial FROM added a)
      ORDER BY trial FOR KEY SHARE;
  END IF;
  INSERT INTO metric_summaries AS s (trial, group_name, metric, project, count, sum, min, max, last,
      last_run, last_steps)
    SELECT n.trial, n.group_name, n.metric, coalesce(t.project, 0), n.count, n.sum, n.min, n.max,
      n.last, n.last_run, n.last_steps
    FROM (
      SELECT DISTINCT ON (a.trial, a.group_name, m.metric COLLATE "C") a.trial, a.group_name,
        m.metric, count(*) OVER name AS count, sum(m.number) OVER name AS sum,
        min(m.number) OVER name AS min, max(m.number) OVER name AS max,
        m.number AS last, a.run_id AS last_run, a.steps AS last_steps
      FROM added a CROSS JOIN LATERAL numbers_of(a.metrics) m
      WHERE NOT EXISTS (SELECT FROM unsummarized u WHERE u.trial = a.trial)
      WINDOW name AS (PARTITION BY a.trial, a.group_name, m.metric COLLATE "C")
      ORDER BY a.trial, a.group_name, m.metric COLLATE "C", a.run_id DESC, a.steps DESC) n
    LEFT JOIN trials t ON t.id = n.trial
    ORDER BY n.trial, n.group_name, n.metric COLLATE "C"
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
