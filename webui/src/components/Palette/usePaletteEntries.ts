import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { useWorkspaces } from "@/api/useWorkspaces";
import { paths } from "@/paths";
import type { Entry } from "./entries";

/**
 * Models and workspaces as entries of the palette, which finds them also by letters that are apart; read when it is
 * first opened.
 */
export function usePaletteEntries(isEnabled: boolean): Entry[] {
  const models = useQuery({
    queryKey: ["models"],
    enabled: isEnabled,
    queryFn: async ({ signal }) =>
      (await unwrap(api.GET("/api/v1/models", { signal }))).models ?? [],
  });
  const workspaces = useWorkspaces(isEnabled);
  return [
    ...(workspaces.data ?? []).map(({ id = 0, name = "" }) => ({
      to: paths.workspace(id),
      label: name,
      hint: "workspace",
    })),
    ...(models.data ?? []).map(({ name = "" }) => ({
      to: paths.model(name),
      label: name,
      hint: "model",
    })),
  ];
}
