#!/bin/bash
# Tests commit-msg with accepted and rejected subjects.
set -euo pipefail
hook=$PWD/tools/commit-msg
cd "$TEST_TMPDIR"
failures=0

check() {  # check good|bad MESSAGE
  printf '%b\n' "$2" > message
  if "$hook" message 2> errors; then result=good; else result=bad; fi
  if [[ $result != "$1" ]]; then
    echo "expected $1: $2 ($(head -n 1 errors))"
    failures=1
  fi
}

check good "store: add an index for runs\n\nSearches were slow."
check good "det.pytorch: support sparse gradients"
check good "tests/sim: rename histories"
check good "searcher: NaN metrics are the worst value"
check good "Merge branch 'main' into docs"
check good "cli: $(printf 'a%.0s' {1..67})"
check bad "cli: $(printf 'a%.0s' {1..68})"
check bad "Add an index"
check bad "store: Add an index"
check bad "store: add an index."
check bad "store:add an index"
check bad "store: add an index\nwithout a blank line"
exit $failures
