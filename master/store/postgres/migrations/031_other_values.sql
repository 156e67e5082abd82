-- Reported values that metric_summaries does not contain, because they are not finite numbers: texts,
-- flags, lists, objects, nulls, and the numbers that JSON does not support. Reports from before this
-- migration are not included.
CREATE TABLE other_values (
  trial               int NOT NULL,
  group_name          text COLLATE "C" NOT NULL,
  metric              text COLLATE "C" NOT NULL,
  type                text NOT NULL,  -- as json_typeof(); 'string' if reports differ
  nans                bigint NOT NULL,
  infinities          bigint NOT NULL,
  negative_infinities bigint NOT NULL,
  last                json,           -- null if it is long
  last_run            int NOT NULL,
  last_steps          bigint NOT NULL,
  PRIMARY KEY (trial, group_name, metric)
);

CREATE FUNCTION add_other_values() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Most reports contain numbers only. Their stored text, which has no spaces, has a digit or a sign
  -- after each name.
  IF NOT EXISTS (SELECT FROM added a WHERE a.metrics::text ~ '":[^-0-9]') THEN
    RETURN NULL;
  END IF;
  INSERT INTO other_values AS o (trial, group_name, metric, type, nans, infinities,
      negative_infinities, last, last_run, last_steps)
    SELECT v.trial, v.group_name, v.metric,
      CASE WHEN min(v.type) = max(v.type) THEN min(v.type) ELSE 'string' END,
      count(*) FILTER (WHERE v.text = 'NaN'), count(*) FILTER (WHERE v.text = 'Infinity'),
      count(*) FILTER (WHERE v.text = '-Infinity'),
      (array_agg(CASE WHEN octet_length(v.value::text) <= 1000 THEN v.value END
        ORDER BY v.run_id DESC, v.steps DESC))[1],
      max(v.run_id), (array_agg(v.steps ORDER BY v.run_id DESC, v.steps DESC))[1]
    FROM (
      SELECT a.trial, a.group_name, a.run_id, a.steps, e.key AS metric, e.value,
        e.value #>> '{}' AS text,
        CASE WHEN e.value #>> '{}' IN ('NaN', 'Infinity', '-Infinity') THEN 'number'
          ELSE json_typeof(e.value) END AS type,
        count(*) OVER (PARTITION BY a.trial, a.group_name, a.run_id, a.steps) AS names
      FROM added a CROSS JOIN LATERAL
        json_each(CASE json_typeof(a.metrics) WHEN 'object' THEN a.metrics ELSE '{}' END) e
      WHERE json_typeof(e.value) <> 'number' AND octet_length(e.key) <= 200) v
    WHERE v.names <= 1000
    GROUP BY v.trial, v.group_name, v.metric
    ORDER BY v.trial, v.group_name, v.metric COLLATE "C"
  ON CONFLICT (trial, group_name, metric) DO UPDATE SET
    type = CASE WHEN o.type = excluded.type THEN o.type ELSE 'string' END,
    nans = o.nans + excluded.nans, infinities = o.infinities + excluded.infinities,
    negative_infinities = o.negative_infinities + excluded.negative_infinities,
    last = CASE WHEN (excluded.last_run, excluded.last_steps) >= (o.last_run, o.last_steps)
      THEN excluded.last ELSE o.last END,
    last_run = greatest(o.last_run, excluded.last_run),
    last_steps = CASE WHEN (excluded.last_run, excluded.last_steps) >= (o.last_run, o.last_steps)
      THEN excluded.last_steps ELSE o.last_steps END;
  RETURN NULL;
END $$;
CREATE TRIGGER add_other_values AFTER INSERT ON metrics REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION add_other_values();

-- The log policy that matched last.
ALTER TABLE trials ADD COLUMN log_policy text NOT NULL DEFAULT '';
-- The container that the task reported; '': the allocation.
ALTER TABLE task_logs ADD COLUMN container text NOT NULL DEFAULT '';
