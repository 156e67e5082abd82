import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";

/** The master's version and settings; undefined until known. */
export function useMaster() {
  const { data } = useQuery({
    queryKey: ["master"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/master", { signal })),
    staleTime: Infinity,
  });
  return data;
}
