/** A log of the master. */
export interface LogSource {
  /** Its API path, without a query. */
  path: string;
  /** What wrote it, for screen readers: "trial 5". */
  label: string;
  /** The name of a downloaded file. */
  file: string;
  /** The command that follows it. */
  command: string;
}

export const trialLog = (id: number): LogSource => ({
  path: `/api/v1/trials/${id}/logs`,
  label: `trial ${id}`,
  file: `trial-${id}.log`,
  command: `det trial logs -f ${id}`,
});

/** The log of a task that is not a trial. */
export const taskLog = (id: string): LogSource => ({
  path: `/api/v1/tasks/${encodeURIComponent(id)}/logs`,
  label: `task ${id}`,
  file: `task-${id}.log`,
  command: `det task logs -f ${id}`,
});
