-- Stored responses to create requests with an idempotency key; each is valid for a day.
CREATE TABLE answers (
  user_id  int NOT NULL,
  key      text COLLATE "C" NOT NULL,
  method   text NOT NULL,
  request  text NOT NULL,  -- a hash of it
  at       timestamptz NOT NULL,
  code     int NOT NULL,   -- of gRPC
  message  text NOT NULL,
  response bytea NOT NULL,
  PRIMARY KEY (user_id, key)
);
CREATE INDEX answers_at ON answers (at);

-- The message of the administrators to all users.
CREATE TABLE cluster_message (
  one        boolean PRIMARY KEY DEFAULT true CHECK (one),
  text       text NOT NULL,
  starts_at  timestamptz NOT NULL,
  ends_at    timestamptz,
  created_at timestamptz NOT NULL
);

CREATE INDEX audit_at ON audit (at);
