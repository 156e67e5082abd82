/** The addresses of all pages. IDs are the API's. */
export const paths = {
  home: "/",
  signIn: (next: string) => `/sign-in?next=${encodeURIComponent(next)}`,
  experiments: "/experiments",
  /** The experiments with a text in their name, description or labels, archived ones included. */
  findExperiments: (text: string) => `/experiments?q=${encodeURIComponent(text)}&archived=yes`,
  experiment: (id: number, tab = "") => `/experiments/${id}${tab && `/${tab}`}`,
  /** The form for a search around a trial or its continuation; without a trial, the best trial is used. */
  startFrom: (experiment: number, purpose: "search" | "continue", trial?: number) =>
    `/experiments/${experiment}/fork?for=${purpose}${trial ? `&trial=${trial}` : ""}`,
  trial: (id: number, tab = "") => `/trials/${id}${tab && `/${tab}`}`,
  compare: (trials: readonly number[]) => `/compare?trials=${trials.join(",")}`,
  tasks: "/tasks",
  workspaceTasks: (workspace: number) => `/tasks?workspace=${workspace}`,
  task: (id: string, tab = "") => `/tasks/${encodeURIComponent(id)}${tab && `/${tab}`}`,
  /** Leads to the service of a task once the task is ready. */
  openTask: (id: string) => `/tasks/${encodeURIComponent(id)}/open`,
  cluster: "/cluster",
  usage: "/cluster/usage",
  models: "/models",
  model: (name: string | number) => `/models/${encodeURIComponent(name)}`,
  modelVersion: (name: string | number, version: number) =>
    `/models/${encodeURIComponent(name)}/versions/${version}`,
  workspaces: "/workspaces",
  workspace: (id: number, tab = "") => `/workspaces/${id}${tab && `/${tab}`}`,
  project: (id: number) => `/projects/${id}`,
  projectExperiments: (project: number) => `/experiments?project=${project}`,
  admin: "/admin",
  users: "/admin/users",
  user: (id: number) => `/admin/users/${id}`,
  groups: "/admin/groups",
  group: (id: number) => `/admin/groups/${id}`,
  roles: "/admin/roles",
  role: (id: number) => `/admin/roles/${id}`,
  /** The form for a role with the permissions of another one. */
  copyRole: (id: number) => `/admin/roles?do=create&from=${id}`,
  tokens: "/admin/tokens",
  templates: "/admin/templates",
  template: (name: string) => `/admin/templates/${encodeURIComponent(name)}`,
  webhooks: "/admin/webhooks",
  webhook: (id: number) => `/admin/webhooks/${id}`,
  policies: "/admin/policies",
  audit: "/admin/audit",
};

/** Parses an address as one of this dashboard: "//elsewhere" and "/\elsewhere" name no other host. */
export function parseOwn(address: string): URL {
  const url = new URL(`${location.origin}/${address}`);
  url.pathname = url.pathname.replace(/^\/+/, "/");
  return url;
}
