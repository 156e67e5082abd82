#ifndef TOOLS_PRECOMPILED_GRPC_STD_H_
#define TOOLS_PRECOMPILED_GRPC_STD_H_

// The precompiled header of sources that use gRPC.

#include "tools/precompiled/std.h"

#include "tools/precompiled/grpc.h"

#endif  // TOOLS_PRECOMPILED_GRPC_STD_H_
