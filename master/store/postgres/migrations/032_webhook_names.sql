-- Names of webhooks need not be unique, and several may be empty.
DROP INDEX webhooks_name;
