-- Who leads, and that it lives: docs/durability.md.

ALTER TABLE fencing
  ADD COLUMN renewals bigint,                  -- NULL: the leader keeps no lease
  ADD COLUMN leader   text NOT NULL DEFAULT '';

-- Opens a write that is no batch: RS001 when another master has taken over. Who takes over locks the
-- row FOR UPDATE, and so waits for the end of each of these; batches, which change commit_seq alone,
-- do not wait for them, nor they for batches.
CREATE FUNCTION hold_epoch(mine bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  present bigint;
BEGIN
  SELECT epoch INTO present FROM fencing FOR KEY SHARE;
  IF present <> mine THEN
    RAISE EXCEPTION 'epoch % is over, % is here', mine, present USING ERRCODE = 'RS001';
  END IF;
END $$;
