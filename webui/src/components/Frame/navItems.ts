import type { RoleName } from "@/api/useRoles";
import { paths } from "@/paths";

/** A page that the rail and the palette lead to. */
export interface NavItem {
  to: string;
  label: string;
  mark: string;
  /** After `g`, the key that goes there. */
  key: string;
}

/** In the rail's order. A page that belongs here adds its line. */
export const navItems: NavItem[] = [
  { to: paths.home, label: "Home", mark: "⌂", key: "h" },
  { to: paths.experiments, label: "Experiments", mark: "≡", key: "e" },
  { to: paths.cluster, label: "Cluster", mark: "▦", key: "c" },
  { to: paths.models, label: "Models", mark: "◈", key: "m" },
  { to: paths.workspaces, label: "Workspaces", mark: "❏", key: "w" },
];

/** A page of the administration, which the rail has one line for. */
export interface AdminNavItem extends NavItem {
  /** Who has it nowhere is not led there. */
  role?: RoleName;
}

/** In the order of their tabs. */
export const adminNavItems: AdminNavItem[] = [
  { to: paths.users, label: "Users", mark: "", key: "u" },
  { to: paths.tokens, label: "Access tokens", mark: "", key: "k" },
  { to: paths.templates, label: "Templates", mark: "", key: "t" },
  { to: paths.policies, label: "Policies", mark: "", key: "p" },
  { to: paths.webhooks, label: "Webhooks", mark: "", key: "b", role: "Editor" },
  { to: paths.audit, label: "Audit", mark: "", key: "a", role: "ClusterAdmin" },
];
