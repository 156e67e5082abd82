import { ungzip } from "pako";

/** A file of a context directory. */
export interface TarFile {
  path: string;
  content: Uint8Array;
}

const BLOCK = 512;

/** The regular files of a tar archive (ustar, with GNU's and pax' long names), by path. */
export function readTar(bytes: Uint8Array): TarFile[] {
  const files: TarFile[] = [];
  const text = (from: number, length: number) => {
    const part = bytes.subarray(from, from + length);
    const end = part.indexOf(0);
    return new TextDecoder().decode(end < 0 ? part : part.subarray(0, end));
  };
  let longName = "";
  for (let at = 0; at + BLOCK <= bytes.length;) {
    if (bytes[at] === 0) break;
    const size = parseInt(text(at + 124, 12).trim() || "0", 8);
    const type = text(at + 156, 1) || "0";
    const prefix = text(at + 257, 5) === "ustar" ? text(at + 345, 155) : "";
    const name = longName || (prefix ? `${prefix}/` : "") + text(at, 100);
    const body = at + BLOCK;
    if (type === "L") longName = text(body, size);
    else if (type === "x") longName = /\d+ path=([^\n]*)\n/.exec(text(body, size))?.[1] ?? "";
    else {
      if (type === "0")
        files.push({ path: name.replace(/^\.\//, ""), content: bytes.slice(body, body + size) });
      longName = "";
    }
    at = body + Math.ceil(size / BLOCK) * BLOCK;
  }
  return files.sort((a, b) => a.path.localeCompare(b.path));
}

/** The files of a gzipped tar archive that came as base64. Zeros may follow it, which the browser's own stream refuses. */
export function unpack(base64: string): TarFile[] {
  return readTar(ungzip(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))));
}

/** A file as text; undefined for one that is none (it holds a zero byte near its begin). */
export function textOf(file: TarFile | undefined): string | undefined {
  if (!file || file.content.subarray(0, 8000).includes(0)) return undefined;
  return new TextDecoder().decode(file.content);
}
