import { useRoles } from "@/api/useRoles";
import { adminPlaces, places, type Place } from "./places";

/** Where the caller may go. */
export function usePlaces(): Place[] {
  const { mayAnywhere } = useRoles();
  return [...places, ...adminPlaces.filter(({ role }) => role === undefined || mayAnywhere(role))];
}
