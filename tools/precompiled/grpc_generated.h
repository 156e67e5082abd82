#ifndef TOOLS_PRECOMPILED_GRPC_GENERATED_H_
#define TOOLS_PRECOMPILED_GRPC_GENERATED_H_

// For generated messages and stubs themselves.

#include "tools/precompiled/grpc.h"

#endif  // TOOLS_PRECOMPILED_GRPC_GENERATED_H_
