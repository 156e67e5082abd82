import { expect, it } from "vitest";
import { readTar, tarEnd, createTarHeader, getTarPadding } from "./tar";

const joined = (parts: Uint8Array[]) => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

it("round-trips short, long and non-ASCII names, folders, and contents of any size", () => {
  const long = `${"deep/".repeat(30)}weights.bin`;
  const sizes = { "a.bin": 0, "b.bin": 1, [long]: 511, "größe.txt": 512, "z/x": 513 };
  const parts: Uint8Array[] = [...createTarHeader("z/", 0)];
  for (const [path, size] of Object.entries(sizes))
    parts.push(...createTarHeader(path, size), new Uint8Array(size).fill(7), getTarPadding(size));
  const archive = joined([...parts, tarEnd()]);
  expect(archive.length % 512).toBe(0);
  const read = readTar(archive).map(({ path, content }) => [path, content.length]);
  expect(Object.fromEntries(read)).toEqual(sizes);
  expect(readTar(archive).every(({ content }) => content.every((byte) => byte === 7))).toBe(true);
});

it("writes checksums, and a pax record for sizes too large for ustar", () => {
  const [pax, records, , header] = createTarHeader("huge.bin", 8 ** 11) as Uint8Array[];
  expect(new TextDecoder().decode(records)).toBe("19 size=8589934592\n");
  for (const block of [pax, header]) {
    const checksum = parseInt(new TextDecoder().decode(block?.subarray(148, 154)), 8);
    const blanked = Uint8Array.from(block ?? [], (byte, i) => (i >= 148 && i < 156 ? 32 : byte));
    expect(blanked.reduce((sum, byte) => sum + byte, 0)).toBe(checksum);
  }
});
