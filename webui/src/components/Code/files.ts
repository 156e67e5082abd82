import { useQuery } from "@tanstack/react-query";
import { ungzip } from "pako";
import { api, unwrap } from "@/api/client";
import { readTar, type TarFile } from "@/tar";

/** The files of an experiment's context directory; reads nothing without an ID. */
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

/**
 * Unpacks a base64-encoded gzipped tar archive. It may be followed by zeros, which DecompressionStream
 * rejects.
 */
export function unpack(base64: string): TarFile[] {
  return readTar(ungzip(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))));
}

/** A file as text; undefined if it is binary (has a zero byte near its start). */
export function readText(file: TarFile | undefined): string | undefined {
  if (!file || file.content.subarray(0, 8000).includes(0)) return undefined;
  return new TextDecoder().decode(file.content);
}

/** Compares two versions of a file byte by byte. */
export function describeChange(mine: TarFile | undefined, theirs: TarFile | undefined): string {
  if (!mine) return "(only in the other experiment)";
  if (!theirs) return "(only in this experiment)";
  return isSame(mine, theirs) ? "" : "(differs)";
}

function isSame({ content: a }: TarFile, { content: b }: TarFile): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
