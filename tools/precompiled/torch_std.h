#ifndef TOOLS_PRECOMPILED_TORCH_STD_H_
#define TOOLS_PRECOMPILED_TORCH_STD_H_

// std.h and libtorch's headers.

#include "tools/precompiled/std.h"
#include "tools/precompiled/torch.h"

#endif  // TOOLS_PRECOMPILED_TORCH_STD_H_
