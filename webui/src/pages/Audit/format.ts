import { paths } from "@/paths";

/** "det.api.v1.UserService.PostUser" becomes "UserService.PostUser". */
export function shortMethod(method: string | undefined): string {
  return (method ?? "").replace(/^det\.[a-z]+\.v\d+\./, "");
}

const pages: Record<string, (name: string) => string> = {
  experiment: (id) => paths.experiment(Number(id)),
  trial: (id) => paths.trial(Number(id)),
  workspace: (id) => paths.workspace(Number(id)),
  project: (id) => paths.project(Number(id)),
  user: (id) => paths.user(Number(id)),
  webhook: (id) => paths.webhook(Number(id)),
  model: (name) => paths.model(name),
};

/** The page of a request's target ("experiment 7"), if there is one. */
export function getTargetPath(target: string | undefined): string | undefined {
  const [, noun = "", name = ""] = /^(\w+) ([^\s,]+)$/.exec(target ?? "") ?? [];
  if (noun !== "model" && !/^\d+$/.test(name)) return undefined;
  return pages[noun]?.(name);
}
