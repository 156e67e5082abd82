import { useQuery } from "@tanstack/react-query";
import { ungzip } from "pako";
import { api, unwrap } from "@/api/client";
import { readTar, type TarFile } from "@/tar";

/** The files that an experiment was submitted with; of none, nothing is read. */
export function useFiles(id: number | undefined) {
  return useQuery({
    queryKey: ["experiment", id, "files"],
    enabled: id !== undefined,
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const { b64Tgz } = await unwrap(
        api.GET("/api/v1/experiments/{experiment_id}/model_def", {
          params: { path: { experiment_id: id ?? 0 } },
          signal,
        }),
      );
      return b64Tgz ? unpack(b64Tgz) : [];
    },
  });
}

/** The files of a gzipped tar archive that came as base64. Zeros may follow it, which the browser's own stream refuses. */
export function unpack(base64: string): TarFile[] {
  return readTar(ungzip(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))));
}

/** A file as text; undefined for one that is none (it holds a zero byte near its begin). */
export function readText(file: TarFile | undefined): string | undefined {
  if (!file || file.content.subarray(0, 8000).includes(0)) return undefined;
  return new TextDecoder().decode(file.content);
}

/** How a file differs, by its bytes: it need be no text. */
export function describeChange(mine: TarFile | undefined, theirs: TarFile | undefined): string {
  if (!mine) return "(only in the other experiment)";
  if (!theirs) return "(only in this experiment)";
  return isSame(mine, theirs) ? "" : "(differs)";
}

function isSame({ content: a }: TarFile, { content: b }: TarFile): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
