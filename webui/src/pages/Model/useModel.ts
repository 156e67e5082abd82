import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";

/** A model by name or ID, with its versions, newest first. */
export function useModel(name: string) {
  return useQuery({
    queryKey: ["models", name],
    queryFn: async ({ signal }) => {
      const { model, modelVersions = [] } = await unwrap(
        api.GET("/api/v1/models/{model_name}/versions", {
          params: {
            path: { model_name: name },
            query: { sortBy: "SORT_BY_VERSION", orderBy: "ORDER_BY_DESC" },
          },
          signal,
        }),
      );
      return { model: model ?? {}, versions: modelVersions };
    },
  });
}
