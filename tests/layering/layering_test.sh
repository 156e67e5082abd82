#!/bin/sh
# Bazel starts this script through a symlink into the source tree; it is resolved to check the real tree.
set -eu
here=$(dirname "$(readlink -f "$0")")
python3 "$here/layering.py" --self-test "$here/fixtures"
python3 "$here/layering.py" "$here/../.."
python3 -B "$here/includes.py" "$here/../.."
