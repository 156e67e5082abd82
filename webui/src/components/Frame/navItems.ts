import type { RoleName } from "@/api/useRoles";
import { paths } from "@/paths";

/** A page in the navigation and the palette. */
export interface NavItem {
  to: string;
  label: string;
  mark: string;
  /** The key that opens the page after `g`. */
  key: string;
}

/** In the rail's order. */
export const navItems: NavItem[] = [
  { to: paths.home, label: "Home", mark: "⌂", key: "h" },
  { to: paths.experiments, label: "Experiments", mark: "≡", key: "e" },
  { to: paths.cluster, label: "Cluster", mark: "▦", key: "c" },
  { to: paths.models, label: "Models", mark: "◈", key: "m" },
  { to: paths.workspaces, label: "Workspaces", mark: "❏", key: "w" },
];

/** An administration page; the rail has one entry for all of them. */
export interface AdminNavItem extends NavItem {
  /** The role that a user needs in some workspace to see the page. */
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
