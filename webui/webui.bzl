"""The rule that builds the dashboard: Vite's output as one folder."""

def _webui_dist_impl(ctx):
    dist = ctx.actions.declare_directory(ctx.label.name)
    sources = ctx.files.srcs
    arguments = ctx.actions.args()
    arguments.add(ctx.executable.stage)
    arguments.add(dist.path)
    arguments.add_all(sources)
    ctx.actions.run_shell(
        outputs = [dist],
        inputs = sources,
        tools = [ctx.executable.stage],
        arguments = [arguments],
        command = """set -euo pipefail
stage=$1 dist=$PWD/$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$stage" "$work" "$@"
cd "$work"
export HOME=$work PATH=/usr/local/bin:/usr/bin:/bin
node node_modules/vite/bin/vite.js build --logLevel warn --outDir "$dist" --emptyOutDir
node scripts/compress.mjs "$dist"
""",
        mnemonic = "WebuiDist",
        progress_message = "Building the dashboard",
    )
    return [DefaultInfo(files = depset([dist]), runfiles = ctx.runfiles([dist]))]

webui_dist = rule(
    implementation = _webui_dist_impl,
    doc = "The folder that `resolute-master --webui` serves.",
    attrs = {
        "srcs": attr.label_list(allow_files = True),
        "stage": attr.label(executable = True, cfg = "host", allow_single_file = True),
    },
)
