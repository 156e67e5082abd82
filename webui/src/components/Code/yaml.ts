import { stringify } from "yaml";

/** A configuration as text, in the order of its names, so that two of them can be compared line by line. */
export const toYaml = (config: unknown) => stringify(config ?? {}, { sortMapEntries: true });
