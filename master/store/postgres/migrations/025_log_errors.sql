-- Errors are few, and clients jump from one to the next (ListLogs), which may be a million lines
-- away.
CREATE INDEX task_logs_errors ON task_logs (task, id) WHERE level >= 5;
