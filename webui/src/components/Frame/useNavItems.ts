import { usePermissions } from "@/api/usePermissions";
import { adminNavItems, navItems, type NavItem } from "./navItems";

/** The pages that the caller can open. */
export function useNavItems(): NavItem[] {
  const { mayAnywhere } = usePermissions();
  return [
    ...navItems,
    ...adminNavItems.filter(
      ({ permission }) => permission === undefined || mayAnywhere(permission),
    ),
  ];
}
