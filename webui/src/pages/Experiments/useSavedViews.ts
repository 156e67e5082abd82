import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";

/** A view with a name: the query of its address. */
export interface SavedView {
  name: string;
  query: string;
}

const KEY = "views";
const STORAGE_PATH = "experiments";
const queryKey = ["experiments", "views"];

/** The views that the user keeps, in the master, so that they are there in any browser. */
export function useSavedViews() {
  const client = useQueryClient();
  const { data: views = [] } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const { settings = [] } = await dataOf(api.GET("/api/v1/users/setting", { signal }));
      const kept = settings.find((each) => each.key === KEY && each.storagePath === STORAGE_PATH);
      return kept?.value ? read(kept.value) : [];
    },
  });
  const { mutate: keep, error } = useMutation({
    mutationFn: (next: SavedView[]) =>
      api.POST("/api/v1/users/setting", {
        body: { settings: [{ key: KEY, storagePath: STORAGE_PATH, value: JSON.stringify(next) }] },
      }),
    onSuccess: (_, next) => client.setQueryData(queryKey, next),
  });
  return { views, keep, error };
}

// Another version of the page may have written it: what is no list of views is none.
function read(text: string): SavedView[] {
  try {
    const views = JSON.parse(text) as SavedView[];
    return Array.isArray(views)
      ? views.filter((view) => view.name && typeof view.query === "string")
      : [];
  } catch {
    return [];
  }
}
