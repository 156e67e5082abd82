import { api, ApiError, unwrap } from "@/api/client";

/**
 * What the master finds wrong in a template's text, a line each, without keeping it. Empty where the
 * caller may not ask.
 */
export async function masterProblems(
  name: string,
  text: string,
  signal: AbortSignal,
): Promise<string[]> {
  try {
    const params = { path: { template_name: name }, query: { validateOnly: true } };
    const body = { name, yaml: text };
    await unwrap(api.PUT("/api/v1/templates/{template_name}", { params, body, signal }));
    return [];
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return [];
    if (error instanceof ApiError && error.status === 400) return error.message.split("\n");
    throw error;
  }
}
