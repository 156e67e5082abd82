import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { User } from "./types";

/**
 * The signed-in user; undefined until known. If nobody is signed in, main.tsx shows the sign-in
 * page.
 */
export function useMe(): User | undefined {
  const query = useQuery({
    queryKey: ["me"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/me", { signal })),
    staleTime: Infinity,
  });
  return query.data?.user;
}
