import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";

/** All users, including deactivated ones. Invalidate the key ["users"] to refetch. */
export function useUsers() {
  return useQuery({
    queryKey: ["users"],
    queryFn: async ({ signal }) => (await unwrap(api.GET("/api/v1/users", { signal }))).users ?? [],
  });
}
