import { useRoles } from "@/api/useRoles";
import { adminNavItems, navItems, type NavItem } from "./navItems";

/** Where the caller may go. */
export function useNavItems(): NavItem[] {
  const { mayAnywhere } = useRoles();
  return [
    ...navItems,
    ...adminNavItems.filter(({ role }) => role === undefined || mayAnywhere(role)),
  ];
}
