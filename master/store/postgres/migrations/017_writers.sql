-- Records writes, so that a client can find out whether one was committed if its response was lost:
-- docs/durability.md. Transaction IDs are not sufficient, because after a crash the server reuses
-- those that were not on disk.

-- One row per connection that writes, created before its first write.
CREATE TABLE writers (
  id     uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  marked bigint NOT NULL DEFAULT 0,           -- its last committed write
  closed boolean NOT NULL DEFAULT false,      -- whether further writes are rejected
  opened timestamptz NOT NULL DEFAULT now()
);

-- Executed within a write, and committed or rolled back with it. Raises RS003 if the writer is
-- closed.
CREATE FUNCTION mark(writer uuid, number bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE writers SET marked = number WHERE id = writer AND NOT closed;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'write % of writer % was given up', number, writer USING ERRCODE = 'RS003';
  END IF;
END $$;

-- Closes the writer and returns its last write. Waits for a write in progress, but not longer than
-- the lock timeout.
CREATE FUNCTION close_writer(writer uuid) RETURNS bigint LANGUAGE sql SET lock_timeout = '2s' AS $$
  UPDATE writers SET closed = true WHERE id = writer RETURNING marked
$$;

-- Called after a backup was restored (docs/backup.md). IDs that were assigned after the backup are
-- missing here, but agents and tasks may still use them. New IDs therefore start beyond them.
-- Agents do not know the restored attempts, so they stop their tasks, and trials continue from
-- their latest checkpoints.
CREATE FUNCTION leave_room() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  runs CONSTANT int := 1000;
BEGIN
  UPDATE highest_deleted SET
    experiment = (greatest(experiment, (SELECT max(id) FROM experiments)) / 1000 + 2) * 1000,
    trial = (greatest(trial, (SELECT max(id) FROM trials)) / 100000 + 2) * 100000,
    submitted = greatest(submitted, (SELECT max(submitted) FROM allocations)) + 1000000000;
  UPDATE trials t SET allocation = a.task || '.' || (a.run_id + runs)
  FROM allocations a WHERE a.id = t.allocation AND a.state <> 'TERMINATED';
  UPDATE trials SET run_id = run_id + runs;
  UPDATE allocations SET id = task || '.' || (run_id + runs), run_id = run_id + runs
  WHERE state <> 'TERMINATED';
END $$;
