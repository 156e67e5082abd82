import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";

/** A view with a name: the query of its address. */
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

/**
 * The views that the user keeps, in the master, so that they are there in any browser; undefined until
 * they are known.
 */
export function useSavedViews() {
  const client = useQueryClient();
  const { data: views, error: readError } = useQuery({
    queryKey,
    queryFn: ({ signal }) => readViews(signal),
  });
  const { mutate: change, error } = useMutation({
    // All are one text in the master: what another browser saved meanwhile must be in it.
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
