-- What clients of /stream need to follow projects, models and model versions.

-- Counts the changes in the order of their commits: a statement that changes streamed rows locks the
-- only row until its transaction ends, and gives the rows its number.
CREATE TABLE streamed_changes (
  number bigint NOT NULL
);
INSERT INTO streamed_changes VALUES (1);

ALTER TABLE projects ADD COLUMN created_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE projects ADD COLUMN seq bigint NOT NULL DEFAULT 1;
ALTER TABLE models ADD COLUMN seq bigint NOT NULL DEFAULT 1;
ALTER TABLE model_versions ADD COLUMN seq bigint NOT NULL DEFAULT 1;

CREATE FUNCTION number_streamed_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  change bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM changed) THEN
    RETURN NULL;
  END IF;
  UPDATE streamed_changes SET number = number + 1 RETURNING number INTO change;
  IF TG_OP <> 'DELETE' THEN
    EXECUTE format('UPDATE %I SET seq = $1 WHERE id IN (SELECT id FROM changed)', TG_TABLE_NAME)
      USING change;
  END IF;
  -- Versions are in the workspace of their model.
  IF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'models' THEN
    UPDATE model_versions SET seq = change WHERE model IN
      (SELECT c.id FROM changed c JOIN previous p ON p.id = c.id WHERE p.workspace <> c.workspace);
  END IF;
  RETURN NULL;
END $$;

-- The updates of the function itself are not changes. Versions are deleted by a trigger, too: that of
-- the reference to their model.
CREATE TRIGGER stream_added AFTER INSERT ON projects REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION number_streamed_change();
CREATE TRIGGER stream_changed AFTER UPDATE ON projects REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION number_streamed_change();
CREATE TRIGGER stream_deleted AFTER DELETE ON projects REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION number_streamed_change();

CREATE TRIGGER stream_added AFTER INSERT ON models REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION number_streamed_change();
CREATE TRIGGER stream_changed AFTER UPDATE ON models
  REFERENCING NEW TABLE AS changed OLD TABLE AS previous
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION number_streamed_change();
CREATE TRIGGER stream_deleted AFTER DELETE ON models REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION number_streamed_change();

CREATE TRIGGER stream_added AFTER INSERT ON model_versions REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION number_streamed_change();
CREATE TRIGGER stream_changed AFTER UPDATE ON model_versions REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION number_streamed_change();
CREATE TRIGGER stream_deleted AFTER DELETE ON model_versions REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION number_streamed_change();
