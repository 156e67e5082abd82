// Writes a .br and a .gz beside each text of dist/, as the master sends them.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";

const folder = process.argv[2] ?? "dist";
for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
  if (!entry.isFile() || !/\.(html|js|css|svg|json)$/.test(entry.name)) continue;
  const path = `${entry.parentPath ?? entry.path}/${entry.name}`;
  const text = readFileSync(path);
  writeFileSync(`${path}.br`, brotliCompressSync(text));
  writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }));
}
