#!/bin/bash
# Tests that the installed Trial API compiles a source that uses it, with the precompiled header, and that
# programs use Gloo's functions and not those of a libtorch that contains Gloo.
set -euo pipefail
sdk=trial_api/cpp/sdk
cat > "$TEST_TMPDIR/use.cc" <<'CC'
#include "det/trial.h"
torch::Tensor Twice(const torch::Tensor& x) { return 2 * x; }
CC
# shellcheck disable=SC2046
output=$(g++ $(cat "$sdk/share/compile_flags") -I"$sdk/include" -Winvalid-pch -Werror -H \
  -fsyntax-only "$TEST_TMPDIR/use.cc" 2>&1) || { echo "$output" | tail -20; exit 1; }
if ! grep -q '^! .*trial.h.gch' <<< "$output"; then
  echo "the precompiled header was not used:"
  head -5 <<< "$output"
  exit 1
fi
nm -DC "$sdk/lib/libdet_trial.so" > "$TEST_TMPDIR/symbols"
for symbol in 'T det::RunTrialMain(' 'T det::Context::FromEnvironment(' 'det::Hparams::Get<double>('; do
  grep -qF "$symbol" "$TEST_TMPDIR/symbols" || { echo "libdet_trial.so lacks $symbol"; exit 1; }
done

echo 'int main() {}' > "$TEST_TMPDIR/main.cc"
# shellcheck disable=SC2046
g++ "$TEST_TMPDIR/main.cc" -o "$TEST_TMPDIR/program" -L"$sdk/lib" $(cat "$sdk/share/link_flags")
needed=$(readelf -d "$TEST_TMPDIR/program" | grep -oE 'lib(gloo|torch_cpu)\.so' | head -1)
[[ $needed == libgloo.so ]] || { echo "the first of both is ${needed:-missing}"; exit 1; }
