#!/bin/bash
# link_torch, with a package that has the form of torch's wheel.
set -euo pipefail
tool=$PWD/tools/link_torch
cd "$TEST_TMPDIR"
mkdir -p site/torch/{include/{torch,ATen,c10},lib} && export DESTDIR=$TEST_TMPDIR/root PYTHONPATH=$PWD/site
touch site/torch/include/torch/version.h site/torch/lib/libtorch.so

fail() { echo "$1"; exit 1; }
package() {  # of this C++ ABI
  cat > site/torch/__init__.py <<PY
import types
__version__, version = "2.6.0+cu124", types.SimpleNamespace(cuda="12.4")
def compiled_with_cxx11_abi(): return $1
PY
}

package True
said=$("$tool")
[[ $said == "linked torch 2.6.0+cu124 (CUDA 12.4) of $PWD/site/torch" ]] || fail "said: $said"
"$tool" > again  # Repeats.
[[ -e root/usr/local/include/torch-wheel/torch/version.h ]] || fail "no headers"
[[ -e root/usr/local/lib/torch/libtorch.so ]] || fail "no libraries"
[[ ! -e root/usr/local/include/torch-wheel/caffe2 ]] || fail "a header that the package lacks"
[[ $(ls root/usr/local/include) == torch-wheel ]] || fail "all compilers would see it"
[[ $(< root/etc/ld.so.conf.d/torch.conf) == "$PWD/site/torch/lib" ]] || fail "ld.so does not know"

mkdir -p site/torch/include/caffe2 && "$tool" > again && rm -r site/torch/include/caffe2
"$tool" > again
[[ ! -L root/usr/local/include/torch-wheel/caffe2 ]] || fail "a link of another version is left"

"$tool" --remove
[[ -z $(find root ! -type d) ]] || fail "left: $(find root ! -type d)"

package False
if "$tool" 2> said; then fail "an old ABI was taken"; fi
grep -q "old C++ ABI" said || fail "$(< said)"
package True && rm -r site/torch/include
if "$tool" 2> said; then fail "no headers, and taken"; fi
grep -q "has no headers" said || fail "$(< said)"
rm -r site/torch
if "$tool" /bin/false 2> said; then fail "no torch, and taken"; fi
grep -q "name the Python" said || fail "$(< said)"
