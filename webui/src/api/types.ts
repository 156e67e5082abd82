import type { components } from "./generated/schema";

/** The API's messages by their names in proto/det/api/v1: `Message["Experiment"]`. */
export type Message = components["schemas"];

export type Experiment = Message["Experiment"];
export type ExperimentState = Message["Experiment.State"];
export type Job = Message["Job"];
export type User = Message["User"];
