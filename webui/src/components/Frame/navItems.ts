import type { PermissionName } from "@/api/usePermissions";
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
  /** The permission that a user needs in some workspace to see the page. */
  permission?: PermissionName;
}

/** In the order of their tabs. */
export const adminNavItems: AdminNavItem[] = [
  { to: paths.users, label: "Users", mark: "", key: "u" },
  { to: paths.groups, label: "Groups", mark: "", key: "g" },
  { to: paths.roles, label: "Roles", mark: "", key: "r" },
  { to: paths.tokens, label: "Access tokens", mark: "", key: "k" },
  { to: paths.templates, label: "Templates", mark: "", key: "t" },
  { to: paths.policies, label: "Policies", mark: "", key: "p" },
  { to: paths.webhooks, label: "Webhooks", mark: "", key: "b", permission: "VIEW_WEBHOOKS" },
  { to: paths.audit, label: "Audit", mark: "", key: "a", permission: "ADMINISTRATE_USER" },
];
