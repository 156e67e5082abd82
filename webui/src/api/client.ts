import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "./generated/schema";

/** A refusal by the master, or its silence (`status` 0), with what is needed to ask about it. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    /** The canonical name: "NotFound"; empty where the answer was no error of the API. */
    readonly reason: string,
    /** Finds the call in the master's log; empty if nothing answered. */
    readonly requestId: string,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/**
 * Says that the session's cookie stands for this call: without this header the master takes a
 * cookie for reading only, so that no other page can make this browser change anything.
 */
const session = { "X-Det-Session": "cookie" };

async function toApiError(response: Response): Promise<ApiError> {
  const requestId = response.headers.get("X-Request-Id") ?? "";
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error: { reason: string; error: string } };
    return new ApiError(error.error, response.status, error.reason, requestId);
  } catch {
    const what = `the master answered ${response.status} ${response.statusText}`.trim();
    return new ApiError(what, response.status, "", requestId);
  }
}

/** The only fetch of the dashboard. Throws ApiError; an abort passes as it is. */
export async function request(input: Request): Promise<Response> {
  for (const [name, value] of Object.entries(session)) input.headers.set(name, value);
  let response: Response;
  try {
    response = await fetch(input);
  } catch (error) {
    if (input.signal.aborted) throw error;
    throw new ApiError("cannot reach the master; check that it is running", 0, "", "");
  }
  if (!response.ok) throw await toApiError(response);
  return response;
}

// Numbers of 64 bits are texts in the API's JSON; pages that need one as a number say Number().
const readJson: Middleware = {
  onRequest: ({ request: made }) => {
    made.headers.set("Accept", "application/json");
    return made;
  },
};

/**
 * The API, typed by its own description:
 *
 *     const { experiment } = await unwrap(
 *       api.GET("/api/v1/experiments/{experimentId}", {
 *         params: { path: { experimentId: 7 } },
 *         signal,
 *       }),
 *     );
 *
 * All calls throw ApiError.
 */
export const api = createClient<paths>({ baseUrl: location.origin, fetch: request });
api.use(readJson);

/** The answer's message. */
export async function unwrap<T>(call: Promise<{ data?: T }>): Promise<T> {
  const { data } = await call;
  if (data === undefined) throw new ApiError("the master returned an empty response", 0, "", "");
  return data;
}
