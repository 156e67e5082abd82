-- Which of a user's access tokens a change was made by. 0: a login, or no user.
ALTER TABLE audit ADD COLUMN access_token int NOT NULL DEFAULT 0;
