-- Rows of writers are removed a day after their last write instead of their first: a connection may
-- live for months, and its master may query its row just after another master has taken over.
ALTER TABLE writers RENAME COLUMN opened TO touched;

CREATE OR REPLACE FUNCTION mark(writer uuid, number bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE writers SET marked = number, touched = now() WHERE id = writer AND NOT closed;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'write % of writer % was given up', number, writer USING ERRCODE = 'RS003';
  END IF;
END $$;
