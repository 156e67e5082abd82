/** A file of a tar archive. */
export interface TarFile {
  path: string;
  content: Uint8Array;
}

/** An entry of a tar archive: a regular file, a symbolic link, whose content is its target, or a folder. */
export interface TarEntry extends TarFile {
  type: "0" | "2" | "5";
  /** Permission bits. */
  mode: number;
  /** Seconds since 1970. */
  mtime: number;
}

const BLOCK = 512;

/** Reads the regular files of a tar archive, sorted by path. */
export function readTar(bytes: Uint8Array): TarFile[] {
  return readTarEntries(bytes)
    .filter(({ type }) => type === "0")
    .map(({ path, content }) => ({ path, content }))
    .sort((a, b) => a.path.localeCompare(b.path));
}

/** Reads a tar archive (ustar, with GNU and pax long names) in its order. */
export function readTarEntries(bytes: Uint8Array): TarEntry[] {
  const entries: TarEntry[] = [];
  const text = (from: number, length: number) => {
    const part = bytes.subarray(from, from + length);
    const end = part.indexOf(0);
    return new TextDecoder().decode(end < 0 ? part : part.subarray(0, end));
  };
  let longName = "";
  for (let at = 0; at + BLOCK <= bytes.length;) {
    if (bytes[at] === 0) break;
    const octal = (from: number, length: number) =>
      parseInt(text(at + from, length).trim() || "0", 8);
    const size = octal(124, 12);
    const type = text(at + 156, 1) || "0";
    const prefix = text(at + 257, 5) === "ustar" ? text(at + 345, 155) : "";
    const name = longName || (prefix ? `${prefix}/` : "") + text(at, 100);
    const body = at + BLOCK;
    if (type === "L") longName = text(body, size);
    else if (type === "x") longName = /\d+ path=([^\n]*)\n/.exec(text(body, size))?.[1] ?? "";
    else {
      const target = encoder.encode(text(at + 157, 100));
      if (type === "0" || type === "2" || type === "5")
        entries.push({
          path: name.replace(/^\.\//, ""),
          content: type === "2" ? target : bytes.slice(body, body + size),
          type,
          mode: octal(100, 8),
          mtime: octal(136, 12),
        });
      longName = "";
    }
    at = body + Math.ceil(size / BLOCK) * BLOCK;
  }
  return entries;
}

const encoder = new TextEncoder();

/** Creates a ustar header. */
function createUstarHeader(
  path: Uint8Array,
  size: number,
  type: "0" | "5" | "x",
): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK);
  const write = (text: string, at: number) => block.set(encoder.encode(text), at);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  block.set(path.subarray(0, 100));
  write(`${octal(type === "5" ? 0o755 : 0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
  write(`${octal(size, 11)}\0${octal(0, 11)}\0${" ".repeat(8)}${type}`, 124);
  write("ustar\x0000", 257);
  // The checksum is computed with its own field set to spaces.
  write(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    )}\0 `,
    148,
  );
  return block;
}

/** Creates a pax record. It starts with its length, which includes the digits of the length. */
function createPaxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = encoder.encode(rest).length;
  let length = bytes;
  while (length !== bytes + String(length).length) length = bytes + String(length).length;
  return `${length}${rest}`;
}

/** Returns the padding that extends a file of `size` bytes to whole blocks. */
export const getTarPadding = (size: number) => new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);

/** Returns the end-of-archive marker. */
export const tarEnd = () => new Uint8Array(2 * BLOCK);

/**
 * Creates the header of a file, or of a folder if `path` ends with a slash: ustar, preceded by pax
 * if the path or size is too long for it.
 */
export function createTarHeader(path: string, size: number): Uint8Array<ArrayBuffer>[] {
  const name = encoder.encode(path);
  const isLong = name.length > 100 || name.length !== path.length;
  const isLarge = size >= 8 ** 11;
  const parts: Uint8Array<ArrayBuffer>[] = [];
  if (isLong || isLarge) {
    const records = encoder.encode(
      (isLong ? createPaxRecord("path", path) : "") +
        (isLarge ? createPaxRecord("size", String(size)) : ""),
    );
    parts.push(createUstarHeader(encoder.encode("pax"), records.length, "x"));
    parts.push(records, getTarPadding(records.length));
  }
  parts.push(createUstarHeader(name, isLarge ? 0 : size, path.endsWith("/") ? "5" : "0"));
  return parts;
}
