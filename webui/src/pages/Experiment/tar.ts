import { ungzip } from "pako";
import { readTar, type TarFile } from "@/tar";

/** The files of a gzipped tar archive that came as base64. Zeros may follow it, which the browser's own stream refuses. */
export function unpack(base64: string): TarFile[] {
  return readTar(ungzip(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))));
}

/** A file as text; undefined for one that is none (it holds a zero byte near its begin). */
export function textOf(file: TarFile | undefined): string | undefined {
  if (!file || file.content.subarray(0, 8000).includes(0)) return undefined;
  return new TextDecoder().decode(file.content);
}
