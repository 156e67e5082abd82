import { api, ApiError, unwrap } from "@/api/client";

/**
 * Validates a template's text with the master without saving it; returns the problems, one per line. Empty if
 * the caller has no permission to validate.
 */
export async function validateTemplate(
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
