// Writes src/api/generated/schema.ts, the types of the API, from the API description: the file in OPENAPI,
// or that of the master at DET_MASTER (default http://127.0.0.1:8080).
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const master = process.env.DET_MASTER ?? "http://127.0.0.1:8080";
const text = process.env.OPENAPI
  ? readFileSync(process.env.OPENAPI, "utf8")
  : await (await fetch(`${master}/api/v1/openapi.json`)).text();
const folder = new URL("../src/api/generated/", import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(new URL("schema.ts", folder), astToString(await openapiTS(JSON.parse(text))));
