import { ApiError, request } from "./client";

type Line<T> = { result: T } | { error: { reason: string; error: string } };

/** The lines of a body as they come. */
export async function* toLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  // A line may come in a thousand pieces: they are looked at once, and put together at its end.
  let pieces: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const [first = "", ...lines] = decoder.decode(value, { stream: true }).split("\n");
      pieces.push(first);
      if (lines.length === 0) continue;
      const rest = lines.pop() ?? "";
      yield pieces.join("");
      pieces = [rest];
      yield* lines;
    }
    const last = pieces.join("");
    if (last) yield last;
  } finally {
    // One who reads no further holds no connection; a body that has failed has none.
    reader.cancel().catch(() => undefined);
  }
}

/**
 * The messages of a stream of the API that ends by itself, as they come: none is kept. `path` is its
 * address with its query.
 *
 * @throws ApiError, also for one that comes after some messages.
 */
export async function* streamMessages<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
  const headers = { Accept: "application/x-ndjson" };
  const response = await request(new Request(new URL(path, location.origin), { headers, signal }));
  if (response.body === null) return;
  for await (const line of toLines(response.body)) {
    if (!line) continue;
    const message = JSON.parse(line) as Line<T>;
    if ("error" in message) {
      const requestId = response.headers.get("X-Request-Id") ?? "";
      throw new ApiError(message.error.error, response.status, message.error.reason, requestId);
    }
    yield message.result;
  }
}

/** All of streamMessages. */
export async function readMessages<T>(path: string, signal: AbortSignal): Promise<T[]> {
  const messages: T[] = [];
  for await (const message of streamMessages<T>(path, signal)) messages.push(message);
  return messages;
}

/** A query of an address: what is undefined or empty is left out, of a list each is said. */
export function buildQuery(
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
