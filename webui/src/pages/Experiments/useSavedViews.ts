import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";

/** A named view: the query of its address. */
export interface SavedView {
  name: string;
  query: string;
}

const KEY = "views";
const STORAGE_PATH = "experiments";
const queryKey = ["experiments", "views"];

async function readViews(signal?: AbortSignal): Promise<SavedView[]> {
  const { settings = [] } = await unwrap(
    api.GET("/api/v1/users/setting", { ...(signal && { signal }) }),
  );
  const kept = settings.find((each) => each.key === KEY && each.storagePath === STORAGE_PATH);
  return kept?.value ? read(kept.value) : [];
}

/** The user's views, stored by the master for all browsers; undefined until loaded. */
export function useSavedViews() {
  const client = useQueryClient();
  const { data: views, error: readError } = useQuery({
    queryKey,
    queryFn: ({ signal }) => readViews(signal),
  });
  const { mutate: change, error } = useMutation({
    // The master stores all views as one text: include views that another browser saved meanwhile.
    mutationFn: async (act: (now: SavedView[]) => SavedView[]) => {
      const next = act(await readViews());
      const value = JSON.stringify(next);
      await api.POST("/api/v1/users/setting", {
        body: { settings: [{ key: KEY, storagePath: STORAGE_PATH, value }] },
      });
      return next;
    },
    onSuccess: (next) => client.setQueryData(queryKey, next),
  });
  return { views, change, error: error ?? readError };
}

// Another version of the page may have written it: ignore anything that is not a list of views.
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
