import { ApiError, request } from "./client";
import { dropNulls } from "./nulls";

type Line<T> = { result: T } | { error: { reason: string; error: string } };

/** Yields the lines of a body as they arrive. */
export async function* toLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  // A line may arrive in many chunks: collect them and join once at its end.
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
    // Releases the connection if the caller stops reading; fails if the body has failed already.
    reader.cancel().catch(() => undefined);
  }
}

/**
 * Yields the messages of a stream that the master ends. `path` includes the query.
 *
 * @throws ApiError, also after some messages.
 */
export async function* streamMessages<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
  const headers = { Accept: "application/x-ndjson" };
  const response = await request(new Request(new URL(path, location.origin), { headers, signal }));
  if (response.body === null) return;
  for await (const line of toLines(response.body)) {
    if (!line) continue;
    const message = dropNulls(JSON.parse(line) as Line<T>);
    if ("error" in message) {
      const requestId = response.headers.get("X-Request-Id") ?? "";
      throw new ApiError(message.error.error, response.status, message.error.reason, requestId);
    }
    yield message.result;
  }
}

/** Reads all messages of a stream. */
export async function readMessages<T>(path: string, signal: AbortSignal): Promise<T[]> {
  const messages: T[] = [];
  for await (const message of streamMessages<T>(path, signal)) messages.push(message);
  return messages;
}

/** Reads the first message of a stream that may continue, and closes it. */
export async function readFirstMessage<T>(
  path: string,
  signal: AbortSignal,
): Promise<T | undefined> {
  for await (const message of streamMessages<T>(path, signal)) return message;
  return undefined;
}

/**
 * Builds a query string. Undefined and empty fields are left out; each element of a list becomes a
 * parameter.
 */
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
