#ifndef TOOLS_PRECOMPILED_GRPC_TEST_H_
#define TOOLS_PRECOMPILED_GRPC_TEST_H_

// The precompiled header of tests that use gRPC.

#include "tools/precompiled/test.h"

#include "tools/precompiled/grpc.h"

#endif  // TOOLS_PRECOMPILED_GRPC_TEST_H_
