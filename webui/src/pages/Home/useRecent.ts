import { useQuery } from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";

/** The newest experiments that the user may see. */
export function useRecent() {
  return useQuery({
    queryKey: ["home", "recent"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/v1/experiments", {
          params: { query: { limit: 20, sortBy: "SORT_BY_ID", orderBy: "ORDER_BY_DESC" } },
          signal,
        }),
      ),
  });
}
