-- Peaks of long curves, for downsampling: for each portion of a metric's steps, where the value is
-- lowest and where it is highest. Maintained by each report once there are some thousand reports,
-- so that not all of them need to be read or sent.
-- length in steps; 0: there are no peaks yet
ALTER TABLE metric_summaries ADD COLUMN portion bigint NOT NULL DEFAULT 0;
CREATE TABLE metric_peaks (
  trial      int NOT NULL,
  group_name text COLLATE "C" NOT NULL,
  metric     text COLLATE "C" NOT NULL,
  place      bigint NOT NULL,  -- steps / portion
  low        double precision NOT NULL,
  low_steps  bigint NOT NULL,
  high       double precision NOT NULL,
  high_steps bigint NOT NULL,
  PRIMARY KEY (trial, group_name, metric, place)
) WITH (fillfactor = 70);  -- each report updates a row; no indexed column changes

-- Computes the peaks of the reports so far, with about 64 reports in a portion. Concurrent reports
-- wait.
CREATE FUNCTION make_peaks(of_trial int, of_group text, of_metric text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  known metric_summaries;
  width bigint;
BEGIN
  SELECT * INTO known FROM metric_summaries s
    WHERE s.trial = of_trial AND s.group_name = of_group AND s.metric = of_metric FOR UPDATE;
  IF NOT FOUND OR known.portion > 0 THEN RETURN; END IF;
  SELECT greatest(1, ((max(m.steps) - min(m.steps)) * 64.0 / known.count)::bigint) INTO width
    FROM metrics m WHERE m.trial = of_trial AND m.group_name = of_group;
  INSERT INTO metric_peaks (trial, group_name, metric, place, low, low_steps, high, high_steps)
    SELECT of_trial, of_group, of_metric, n.steps / width,
      min(n.number), (array_agg(n.steps ORDER BY n.number, n.steps))[1],
      max(n.number), (array_agg(n.steps ORDER BY n.number DESC, n.steps))[1]
    FROM (SELECT m.steps, r.number FROM metrics m CROSS JOIN LATERAL numbers_of(m.metrics) r
      WHERE m.trial = of_trial AND m.group_name = of_group AND r.metric = of_metric) n
    GROUP BY n.steps / width;
  UPDATE metric_summaries s SET portion = width
    WHERE s.trial = of_trial AND s.group_name = of_group AND s.metric = of_metric;
END $$;

-- The function of 015, which now also maintains the peaks.
CREATE OR REPLACE FUNCTION add_summaries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  known record;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7241900303);
  IF EXISTS (SELECT FROM unsummarized) THEN
    PERFORM FROM unsummarized WHERE trial IN (SELECT a.trial FROM added a)
      ORDER BY trial FOR KEY SHARE;
  END IF;
  FOR known IN
    WITH summed AS (
      INSERT INTO metric_summaries AS s (trial, group_name, metric, project, count, sum, min, max,
          last, last_run, last_steps)
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
        last_steps = CASE WHEN (excluded.last_run, excluded.last_steps) >=
            (s.last_run, s.last_steps)
          THEN excluded.last_steps ELSE s.last_steps END
      RETURNING s.trial, s.group_name, s.metric, s.count, s.portion)
    SELECT * FROM summed s WHERE s.count > 16384
      ORDER BY s.trial, s.group_name, s.metric COLLATE "C"
  LOOP
    IF known.portion = 0 THEN
      PERFORM make_peaks(known.trial, known.group_name, known.metric);
      CONTINUE;
    END IF;
    INSERT INTO metric_peaks AS p (trial, group_name, metric, place, low, low_steps, high,
        high_steps)
      SELECT known.trial, known.group_name, known.metric, n.steps / known.portion,
        min(n.number), (array_agg(n.steps ORDER BY n.number, n.steps))[1],
        max(n.number), (array_agg(n.steps ORDER BY n.number DESC, n.steps))[1]
      FROM (SELECT a.steps, m.number FROM added a CROSS JOIN LATERAL numbers_of(a.metrics) m
        WHERE a.trial = known.trial AND a.group_name = known.group_name
          AND m.metric = known.metric) n
      GROUP BY n.steps / known.portion
    ON CONFLICT (trial, group_name, metric, place) DO UPDATE SET
      low = least(p.low, excluded.low),
      low_steps = CASE WHEN excluded.low < p.low THEN excluded.low_steps ELSE p.low_steps END,
      high = greatest(p.high, excluded.high),
      high_steps = CASE WHEN excluded.high > p.high THEN excluded.high_steps ELSE p.high_steps END;
  END LOOP;
  RETURN NULL;
END $$;

-- Returns the steps at which to sample a curve: its ends, and where each of at most this many
-- intervals is lowest and highest. Empty if there are no peaks yet (make_peaks).
CREATE FUNCTION curve_steps(of_trial int, of_group text, of_metric text, from_steps bigint,
  to_steps bigint, stretches int) RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
  WITH here AS (
    SELECT p.* FROM metric_summaries s JOIN metric_peaks p
      ON p.trial = s.trial AND p.group_name = s.group_name AND p.metric = s.metric
    WHERE s.trial = of_trial AND s.group_name = of_group AND s.metric = of_metric AND s.portion > 0
      AND p.place BETWEEN from_steps / s.portion AND to_steps / s.portion),
  whole AS (SELECT min(place) AS low, max(place) - min(place) + 1 AS size FROM here)
  -- A portion at the edge may have its lowest or highest value outside of the requested steps.
  SELECT steps FROM (
    SELECT unnest(ARRAY[(array_agg(h.low_steps ORDER BY h.low, h.place))[1],
                        (array_agg(h.high_steps ORDER BY h.high DESC, h.place))[1]]) AS steps
    FROM here h CROSS JOIN whole w GROUP BY (h.place - w.low) * stretches / w.size) p
  WHERE steps BETWEEN from_steps AND to_steps
  UNION
  SELECT steps FROM ((SELECT m.steps FROM metrics m WHERE m.trial = of_trial
      AND m.group_name = of_group AND m.steps BETWEEN from_steps AND to_steps ORDER BY m.steps LIMIT 1)
    UNION ALL (SELECT m.steps FROM metrics m WHERE m.trial = of_trial
      AND m.group_name = of_group AND m.steps BETWEEN from_steps AND to_steps ORDER BY m.steps DESC LIMIT 1)) e
$$;
