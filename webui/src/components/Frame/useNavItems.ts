import { useRoles } from "@/api/useRoles";
import { adminNavItems, navItems, type NavItem } from "./navItems";

/** The pages that the caller can open. */
export function useNavItems(): NavItem[] {
  const { mayAnywhere } = useRoles();
  return [
    ...navItems,
    ...adminNavItems.filter(({ role }) => role === undefined || mayAnywhere(role)),
  ];
}
