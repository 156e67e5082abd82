/** A file of a tar archive. */
export interface TarFile {
  path: string;
  content: Uint8Array;
}

const BLOCK = 512;

/** Reads the regular files of a tar archive (ustar, with GNU and pax long names), sorted by path. */
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
