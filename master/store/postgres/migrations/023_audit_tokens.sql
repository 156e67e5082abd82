-- The access token with which the change was made; 0: a login, or no user.
ALTER TABLE audit ADD COLUMN access_token int NOT NULL DEFAULT 0;
