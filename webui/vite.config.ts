import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// `npm run dev` shows the pages of this folder with the data of this master.
const master = process.env["DET_MASTER"] ?? "http://127.0.0.1:8080";

// What most pages are made of comes at once, with the first: a browser asks for six files at a time, and for what
// a file imports only once it has that.
const components =
  "Actions|CopyText|Download|EmptyState|ErrorPanel|FormDialog|Frame|Meter|Page|Palette|State|Tabs|Time";
const shared = [
  new RegExp(`/src/components/(${components})/`),
  /\/src\/(api\/|charts\/(colours|columns|export|format|merge|points|series|smooth|theme)\.|\w+\.ts$)/,
  /\/node_modules\/(@tanstack\/(react-query|query-core)|openapi-fetch|react|react-dom|react-router|scheduler)\//,
  /commonjsHelpers/, // else it would be the entry's, which imports this file
];

export default defineConfig({
  plugins: [react()],
  resolve: {
    alias: {
      "@": fileURLToPath(new URL("./src", import.meta.url)),
      // What a master answers, for tests alone.
      "@goldens": fileURLToPath(new URL("../tests/contract/goldens", import.meta.url)),
    },
  },
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // the page's policy takes images from this master alone, none from its text
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    rollupOptions: {
      output: {
        // With what they import: a part that needed another file, which needs this one, would find it empty.
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
    testTimeout: 60_000, // a bound against hanging, on a machine that does other things, too
    unstubGlobals: true,
  },
});
