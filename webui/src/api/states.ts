/** Whether an experiment or a trial in this state has ended: it writes no more logs and reports no more metrics. */
export function isTerminal(state: string | undefined): boolean {
  return /^STATE_(COMPLETED|CANCELED|ERROR|DELETED|DELETING|DELETE_FAILED)$/.test(state ?? "");
}
