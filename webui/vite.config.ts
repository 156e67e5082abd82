import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// `npm run dev` serves the pages of this folder with the data of this master.
const master = process.env["DET_MASTER"] ?? "http://127.0.0.1:8080";

// Code that most pages use is one chunk, loaded with the first page: a browser requests six files at a time, and the
// imports of a file only after the file.
const components =
  "Actions|CopyText|Download|EmptyState|ErrorPanel|FormDialog|Frame|Icon|LazyPart|Meter|Page|Palette|State|Tabs|Time";
const shared = [
  new RegExp(`/src/components/(${components})/`),
  /\/src\/(api\/|charts\/(colours|columns|export|format|merge|points|series|smooth|theme)\.|\w+\.ts$)/,
  /\/node_modules\/(@tanstack\/(react-query|query-core)|openapi-fetch|react|react-dom|react-router|scheduler)\//,
  /commonjsHelpers/, // otherwise part of the entry, which imports this chunk
];

export default defineConfig({
  plugins: [react()],
  resolve: {
    alias: {
      "@": fileURLToPath(new URL("./src", import.meta.url)),
      // The responses of a real master, for tests only.
      "@goldens": fileURLToPath(new URL("../tests/contract/goldens", import.meta.url)),
    },
  },
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // the content security policy allows images from this master only, no data URLs
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    rollupOptions: {
      output: {
        // Includes their imports: otherwise chunks would import each other in a cycle.
        manualChunks: (id) => (shared.some((part) => part.test(id)) ? "shared" : null),
      },
    },
  },
  worker: { format: "es" },
  server: { proxy: { "/api": { target: master, changeOrigin: true } } },
  test: {
    environment: "jsdom",
    setupFiles: ["./src/testing/setup.ts"],
    restoreMocks: true,
    testTimeout: 60_000, // generous, for loaded machines
    unstubGlobals: true,
  },
});
