import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// `npm run dev` shows the pages of this folder with the data of this master.
const master = process.env["DET_MASTER"] ?? "http://127.0.0.1:8080";

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
