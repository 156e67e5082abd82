// Writes src/api/generated/schema.ts, the types of the API, from the API description: the file in OPENAPI,
// or that of the master at DET_MASTER (default http://127.0.0.1:8080).
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const master = process.env.DET_MASTER ?? "http://127.0.0.1:8080";
const text = process.env.OPENAPI
  ? readFileSync(process.env.OPENAPI, "utf8")
  : await (await fetch(`${master}/api/v1/openapi.json`)).text();
/** Removes null from the types: the dashboard drops the nulls of unset members (src/api/nulls.ts). */
function withoutNull(schema) {
  if (Array.isArray(schema)) return schema.map(withoutNull);
  if (schema === null || typeof schema !== "object") return schema;
  const isNull = (each) => each?.type === "null";
  const result = {};
  for (const [name, value] of Object.entries(schema)) {
    const isChoice = (name === "oneOf" || name === "anyOf") && Array.isArray(value);
    result[name] = withoutNull(isChoice ? value.filter((each) => !isNull(each)) : value);
  }
  if (Array.isArray(result.type)) {
    const types = result.type.filter((each) => each !== "null");
    result.type = types.length === 1 ? types[0] : types;
  }
  return result;
}

const folder = new URL("../src/api/generated/", import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(
  new URL("schema.ts", folder),
  astToString(await openapiTS(withoutNull(JSON.parse(text)))),
);
