-- The lease of the leading master: docs/durability.md.

ALTER TABLE fencing
  ADD COLUMN renewals bigint,                  -- NULL: the leader keeps no lease
  ADD COLUMN leader   text NOT NULL DEFAULT '';

-- Begins a write outside of batches. Raises RS001 if another master has taken over. A master that
-- takes over locks the row FOR UPDATE, and so waits for the end of each of these writes. Batches
-- change only commit_seq, so batches and these writes do not wait for each other.
CREATE FUNCTION hold_epoch(mine bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  present bigint;
BEGIN
  SELECT epoch INTO present FROM fencing FOR KEY SHARE;
  IF present <> mine THEN
    RAISE EXCEPTION 'epoch % is over, % is here', mine, present USING ERRCODE = 'RS001';
  END IF;
END $$;
