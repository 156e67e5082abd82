import { tarEnd, createTarHeader, getTarPadding } from "@/tar";
import { streamMessages } from "./messages";

/** Receives the number of bytes read so far. */
export type OnBytes = (bytes: number) => void;

/** Reads a checkpoint's file into a Blob, which the browser stores outside the page's memory. */
export async function readFile(
  uuid: string,
  path: string,
  signal: AbortSignal,
  onBytes?: OnBytes,
): Promise<Blob> {
  const name = path.split("/").map(encodeURIComponent).join("/");
  const address = `/api/v1/checkpoints/${uuid}/files/${name}`;
  const parts: Blob[] = [];
  let bytes = 0;
  for await (const { chunk } of streamMessages<{ chunk: string }>(address, signal)) {
    const part = new Blob([Uint8Array.from(atob(chunk), (letter) => letter.charCodeAt(0))]);
    parts.push(part);
    bytes += part.size;
    onBytes?.(bytes);
  }
  return new Blob(parts);
}

/**
 * Reads all files of a checkpoint as one tar archive with a folder named after the checkpoint. `resources`
 * maps paths to sizes, as in the API.
 *
 * @throws Error if a file is incomplete.
 */
export async function readArchive(
  uuid: string,
  resources: Readonly<Record<string, string>>,
  signal: AbortSignal,
  onBytes?: OnBytes,
): Promise<Blob> {
  const parts: BlobPart[] = [...createTarHeader(`${uuid}/`, 0)];
  let before = 0;
  for (const [path, text] of Object.entries(resources).sort()) {
    const size = Number(text);
    parts.push(...createTarHeader(`${uuid}/${path}`, size));
    if (path.endsWith("/")) continue;
    const file = await readFile(uuid, path, signal, (bytes) => onBytes?.(before + bytes));
    if (file.size !== size) {
      throw new Error(
        `Checkpoint ${uuid}: received ${file.size} of ${size} bytes of ${path}. Try again.`,
      );
    }
    parts.push(file, getTarPadding(size));
    before += size;
  }
  return new Blob([...parts, tarEnd()], { type: "application/x-tar" });
}
