import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { User } from "./types";

/** Who is signed in; undefined until that is known. Nobody: the sign-in page comes up (main.tsx). */
export function useMe(): User | undefined {
  const query = useQuery({
    queryKey: ["me"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/me", { signal })),
    staleTime: Infinity,
  });
  return query.data?.user;
}
