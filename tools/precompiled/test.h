#ifndef TOOLS_PRECOMPILED_TEST_H_
#define TOOLS_PRECOMPILED_TEST_H_

// The precompiled header of tests.

#include "tools/precompiled/std.h"

#include <fstream>
#include <future>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#endif  // TOOLS_PRECOMPILED_TEST_H_
