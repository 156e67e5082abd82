import { ApiError, request } from "./client";

type Line<T> = { result: T } | { error: { reason: string; error: string } };

/**
 * All messages of a stream of the API that ends by itself. `path` is its address with its query.
 *
 * @throws ApiError, also for one that comes after some messages.
 */
export async function readLines<T>(path: string, signal: AbortSignal): Promise<T[]> {
  const headers = { Accept: "application/x-ndjson" };
  const response = await request(new Request(new URL(path, location.origin), { headers, signal }));
  const text = await response.text();
  const messages: T[] = [];
  for (const line of text.split("\n")) {
    if (!line) continue;
    const message = JSON.parse(line) as Line<T>;
    if ("error" in message) {
      const requestId = response.headers.get("X-Request-Id") ?? "";
      throw new ApiError(message.error.error, response.status, message.error.reason, requestId);
    }
    messages.push(message.result);
  }
  return messages;
}

/** A query of an address: what is undefined or empty is left out, of a list each is said. */
export function queryOf(
  fields: Record<string, string | number | boolean | readonly (string | number)[] | undefined>,
): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const each of Array.isArray(value) ? (value as (string | number)[]) : [value]) {
      if (each !== undefined && each !== "" && each !== false) params.append(name, String(each));
    }
  }
  return params.toString();
}
