import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";

/** All users, those that were deactivated too. Read again under the key ["users"]. */
export function useUsers() {
  return useQuery({
    queryKey: ["users"],
    queryFn: async ({ signal }) => (await unwrap(api.GET("/api/v1/users", { signal }))).users ?? [],
  });
}
