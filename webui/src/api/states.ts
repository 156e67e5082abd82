/** Whether an experiment or a trial in this state has ended: it writes no more logs and reports no more metrics. */
export function isTerminal(state: string | undefined): boolean {
  return /^STATE_(COMPLETED|CANCELED|ERROR|DELETED|DELETING|DELETE_FAILED)$/.test(state ?? "");
}

/**
 * The progress from 0 to 1 that a page shows: undefined if the experiment failed or was stopped, which makes its
 * progress complete, but not its work.
 */
export function getShownProgress(
  state: string | undefined,
  progress: number | undefined,
): number | undefined {
  const isCutShort = /^STATE_(CANCELED|ERROR)$/.test(state ?? "");
  return isCutShort && (progress ?? 0) >= 1 ? undefined : (progress ?? 0);
}
