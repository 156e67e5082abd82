import js from "@eslint/js";
import prettier from "eslint-config-prettier";
import hooks from "eslint-plugin-react-hooks";
import globals from "globals";
import ts from "typescript-eslint";

const onlyFetch = {
  selector: "CallExpression[callee.name='fetch']",
  message: "only api/client.ts may call fetch",
};

export default ts.config(
  { ignores: ["dist", "node_modules", "src/api/generated"] },
  js.configs.recommended,
  {
    files: ["src/**/*.{ts,tsx}", "vite.config.ts"],
    extends: [ts.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { "react-hooks": hooks },
    rules: {
      ...hooks.configs.recommended.rules,
      "no-restricted-syntax": ["error", onlyFetch],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // Only the caller knows the type of a stream's or a cached message.
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
    },
  },
  { files: ["src/api/client.ts"], rules: { "no-restricted-syntax": "off" } },
  {
    files: ["**/*.{js,cjs,mjs}"],
    languageOptions: { globals: { ...globals.node, ...globals.browser } },
  },
  prettier,
);
