import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "./generated/schema";
import { dropNulls } from "./nulls";

/** A refusal by the master, or no response (`status` 0). */
export class ApiError extends Error {
  /** The master's own words, where `message` has others. */
  readonly original: string;

  constructor(
    message: string,
    readonly status: number,
    /**
     * The canonical gRPC code name, such as "NotFound"; empty if the response is not an API error.
     */
    readonly reason: string,
    /** Identifies the call in the master's log; empty if there was no response. */
    readonly requestId: string,
  ) {
    super(toPlainMessage(message));
    this.name = "ApiError";
    this.original = this.message === message ? "" : message;
  }
}

const MISSING_ROLE = /^[\w.]+ needs the role (\w+)(.*?)(?: \(permission \w+\))?; ask (.*)$/s;

/** The message for users of the dashboard: without the names of methods and permissions. */
function toPlainMessage(message: string): string {
  const [, role = "", place = "", contact = ""] = MISSING_ROLE.exec(message) ?? [];
  if (!role) return message;
  const who = role === "ClusterAdmin" ? "cluster admins" : `users with the role ${role}${place}`;
  return `Only ${who} can do this. Ask ${contact}.`;
}

/**
 * Without this header the master accepts the session cookie for reads only, which prevents cross-site request
 * forgery.
 */
const session = { "X-Det-Session": "cookie" };

async function toApiError(response: Response): Promise<ApiError> {
  const requestId = response.headers.get("X-Request-Id") ?? "";
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error: { reason: string; error: string } };
    return new ApiError(error.error, response.status, error.reason, requestId);
  } catch {
    const what = `the master returned HTTP ${response.status} ${response.statusText}`.trim();
    return new ApiError(what, response.status, "", requestId);
  }
}

/** The only use of fetch in the dashboard. Throws ApiError; an abort error passes unchanged. */
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

// 64-bit numbers are strings in the API's JSON; convert them with Number() where needed.
const readJson: Middleware = {
  onRequest: ({ request }) => {
    request.headers.set("Accept", "application/json");
    return request;
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

/** Returns the message of a response. */
export async function unwrap<T>(call: Promise<{ data?: T }>): Promise<T> {
  const { data } = await call;
  if (data === undefined) throw new ApiError("the master returned an empty response", 0, "", "");
  return dropNulls(data);
}
