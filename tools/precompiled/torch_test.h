#ifndef TOOLS_PRECOMPILED_TORCH_TEST_H_
#define TOOLS_PRECOMPILED_TORCH_TEST_H_

// test.h and libtorch's headers.

#include "tools/precompiled/test.h"
#include "tools/precompiled/torch.h"

#endif  // TOOLS_PRECOMPILED_TORCH_TEST_H_
