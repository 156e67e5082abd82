-- Whether a write was made of which the answer was lost: docs/durability.md. The number of a
-- transaction does not say it: after a crash the server gives out again what it had not written down.

-- One row per connection that writes, made before its first write.
CREATE TABLE writers (
  id     uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  marked bigint NOT NULL DEFAULT 0,           -- its newest write that was made
  closed boolean NOT NULL DEFAULT false,      -- it makes no more
  opened timestamptz NOT NULL DEFAULT now()
);

-- Part of a write, which is made with it or not at all. RS003: the write was given up already.
CREATE FUNCTION mark(writer uuid, number bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE writers SET marked = number WHERE id = writer AND NOT closed;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'write % of writer % was given up', number, writer USING ERRCODE = 'RS003';
  END IF;
END $$;

-- The writer's newest write; there will be none after it. Waits for one that is under way, but not
-- for ever.
CREATE FUNCTION close_writer(writer uuid) RETURNS bigint LANGUAGE sql SET lock_timeout = '2s' AS $$
  UPDATE writers SET closed = true WHERE id = writer RETURNING marked
$$;

-- After a backup was restored (docs/backup.md). What got its number since then is not here, but agents
-- and tasks may still have it: new ids begin beyond, and the runs under way are none that an agent
-- knows, so agents stop what they have, and trials go on from their newest checkpoints.
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
