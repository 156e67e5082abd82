// The rules for imports among the sources; `npm run lint` and //webui:lint_test check them.
module.exports = {
  forbidden: [
    {
      name: "no-cycle",
      comment:
        "Import cycles hide which module owns what: move the shared part to a module of its own.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-page-imports-page",
      comment:
        "A page does not import another page's folder: move the shared part to src/components.",
      severity: "error",
      from: { path: "^src/pages/([^/]+)/" },
      to: { path: "^src/pages/", pathNot: "^src/pages/$1/" },
    },
    {
      name: "no-upward-imports",
      comment: "Pages import components, charts and api; never the other way round.",
      severity: "error",
      from: { path: "^src/(api|charts|components)/", pathNot: "[.]test[.]tsx?$" },
      to: { path: "^src/(pages/|routes)" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsConfig: { fileName: "tsconfig.json" },
    // Type imports count, too.
    tsPreCompilationDeps: true,
  },
};
