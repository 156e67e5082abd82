#!/bin/bash
# Tests link_torch with a package that has the layout of the torch wheel.
set -euo pipefail
tool=$PWD/tools/link_torch
cd "$TEST_TMPDIR"
mkdir -p site/torch/{include/{torch,ATen,c10},lib} && export DESTDIR=$TEST_TMPDIR/root PYTHONPATH=$PWD/site
touch site/torch/include/torch/version.h site/torch/lib/libtorch.so

fail() { echo "$1"; exit 1; }
package() {  # package ABI: writes a package; ABI is True for the new C++ ABI, else False
  cat > site/torch/__init__.py <<PY
import types
__version__, version = "2.6.0+cu124", types.SimpleNamespace(cuda="12.4")
def compiled_with_cxx11_abi(): return $1
PY
}

package True
output=$("$tool")
[[ $output == "linked torch 2.6.0+cu124 (CUDA 12.4) of $PWD/site/torch" ]] || fail "output: $output"
"$tool" > again  # A second run succeeds, too.
[[ -e root/usr/local/include/torch-wheel/torch/version.h ]] || fail "no headers"
[[ -e root/usr/local/lib/torch/libtorch.so ]] || fail "no libraries"
[[ ! -e root/usr/local/include/torch-wheel/caffe2 ]] || fail "a link to a header that the package lacks"
[[ $(ls root/usr/local/include) == torch-wheel ]] || fail "a link in the default include path"
[[ $(< root/etc/ld.so.conf.d/torch.conf) == "$PWD/site/torch/lib" ]] || fail "wrong directory in torch.conf"

mkdir -p site/torch/include/caffe2 && "$tool" > again && rm -r site/torch/include/caffe2
"$tool" > again
[[ ! -L root/usr/local/include/torch-wheel/caffe2 ]] || fail "a link of the previous version remains"

"$tool" --remove
[[ -z $(find root ! -type d) ]] || fail "remaining files: $(find root ! -type d)"

package False
if "$tool" 2> errors; then fail "accepted the old ABI"; fi
grep -q "old C++ ABI" errors || fail "$(< errors)"
package True && rm -r site/torch/include
if "$tool" 2> errors; then fail "accepted a package without headers"; fi
grep -q "has no headers" errors || fail "$(< errors)"
rm -r site/torch
if "$tool" /bin/false 2> errors; then fail "accepted a Python without torch"; fi
grep -q "pass the path of a Python" errors || fail "$(< errors)"
