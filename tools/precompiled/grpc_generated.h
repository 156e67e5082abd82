#ifndef TOOLS_PRECOMPILED_GRPC_GENERATED_H_
#define TOOLS_PRECOMPILED_GRPC_GENERATED_H_

// The precompiled header of generated messages and stubs.

#include "tools/precompiled/grpc.h"

#endif  // TOOLS_PRECOMPILED_GRPC_GENERATED_H_
