#!/bin/sh
# Bazel starts this script through a link into the source tree; the tree around the real file is checked.
set -eu
here=$(dirname "$(readlink -f "$0")")
python3 "$here/layering.py" --self-test "$here/fixtures"
python3 "$here/layering.py" "$here/../.."
python3 -B "$here/includes.py" "$here/../.."
