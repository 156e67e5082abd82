import { ungzip } from "pako";
import { readTarEntries, type TarEntry } from "@/tar";
import { api, unwrap } from "./client";
import type { Message } from "./types";

// String.fromCharCode takes a limited number of arguments.
const PIECE = 0x8000;

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE)
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(text);
}

const toFile = ({ path, type, content, mode, mtime }: TarEntry): Message["File"] => ({
  path,
  type: type.charCodeAt(0),
  content: toBase64(content),
  mode,
  mtime: String(mtime),
});

/** The context directory of an experiment, as the files of a launch. */
export async function readContextFiles(experimentId: number): Promise<Message["File"][]> {
  const params = { path: { experiment_id: experimentId } };
  const { b64Tgz } = await unwrap(
    api.GET("/api/v1/experiments/{experiment_id}/model_def", { params }),
  );
  if (!b64Tgz) return [];
  const bytes = Uint8Array.from(atob(b64Tgz), (letter) => letter.charCodeAt(0));
  return readTarEntries(ungzip(bytes))
    .filter(({ path }) => path.replace(/\/$/, "") !== "")
    .map(toFile);
}
