import { stringify } from "yaml";

/** A configuration as YAML with sorted keys, so that two can be compared line by line. */
export const toYaml = (config: unknown) => stringify(config ?? {}, { sortMapEntries: true });
