-- Errors are few, and are asked for one by one (ListLogs): the next may be a million lines away.
CREATE INDEX task_logs_errors ON task_logs (task, id) WHERE level >= 5;
