#ifndef TOOLS_PRECOMPILED_GRPC_TEST_H_
#define TOOLS_PRECOMPILED_GRPC_TEST_H_

// grpc_std.h for tests.

#include "tools/precompiled/test.h"

#include "tools/precompiled/grpc.h"

#endif  // TOOLS_PRECOMPILED_GRPC_TEST_H_
