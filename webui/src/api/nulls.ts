/** Members whose content is free-form, in which null is a value. A list of this name contains messages. */
const freeForm = new Set([
  "avgMetrics",
  "batchMetrics",
  "bestHparams",
  "checkpointStorageConfig",
  "config",
  "configPolicies",
  "eventData",
  "experimentConfig",
  "hparams",
  "hyperparameters",
  "metadata",
  "metrics",
  "summaryMetrics",
]);

/**
 * Removes the members of a message that are null: the master writes an unset member as null, and the
 * dashboard treats it as absent. Changes and returns `message`.
 */
export function dropNulls<T>(message: T): T {
  if (Array.isArray(message)) {
    for (const each of message) dropNulls(each);
  } else if (message !== null && typeof message === "object") {
    const members = message as Record<string, unknown>;
    for (const [name, value] of Object.entries(members)) {
      if (value === null) Reflect.deleteProperty(members, name);
      else if (Array.isArray(value) || !freeForm.has(name)) dropNulls(value);
    }
  }
  return message;
}
