import type { PermissionName } from "@/api/usePermissions";
import { paths } from "@/paths";
import type { IconName } from "../Icon/Icon";

/** A page in the palette. */
export interface NavItem {
  to: string;
  label: string;
  /** The key that opens the page after `g`. */
  key: string;
}

/** A page in the navigation, too. */
export interface RailItem extends NavItem {
  icon: IconName;
}

/** In the rail's order. */
export const navItems: RailItem[] = [
  { to: paths.home, label: "Home", icon: "home", key: "h" },
  { to: paths.experiments, label: "Experiments", icon: "experiments", key: "e" },
  { to: paths.tasks, label: "Tasks", icon: "tasks", key: "i" },
  { to: paths.cluster, label: "Cluster", icon: "cluster", key: "c" },
  { to: paths.models, label: "Models", icon: "models", key: "m" },
  { to: paths.workspaces, label: "Workspaces", icon: "workspaces", key: "w" },
];

/** An administration page; the rail has one entry for all of them. */
export interface AdminNavItem extends NavItem {
  /** The permission that a user needs in some workspace to see the page. */
  permission?: PermissionName;
}

/** In the order of their tabs. */
export const adminNavItems: AdminNavItem[] = [
  { to: paths.users, label: "Users", key: "u" },
  { to: paths.groups, label: "Groups", key: "g" },
  { to: paths.roles, label: "Roles", key: "r" },
  { to: paths.tokens, label: "Access tokens", key: "k" },
  { to: paths.templates, label: "Templates", key: "t" },
  { to: paths.policies, label: "Policies", key: "p" },
  { to: paths.webhooks, label: "Webhooks", key: "b", permission: "VIEW_WEBHOOKS" },
  { to: paths.audit, label: "Audit", key: "a", permission: "ADMINISTRATE_USER" },
];
