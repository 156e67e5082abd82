#include "agent/runner/notebook_activity.h"

#include <gtest/gtest.h>

namespace det::agent {
namespace {

constexpr char kBusyKernel[] =
    R"([{"id": "k", "connections": 1, "execution_state": "busy", "last_activity": "2026-01-01T00:00:05Z"}])";
constexpr char kIdleKernel[] =
    R"([{"id": "k", "connections": 0, "execution_state": "idle", "last_activity": "2026-01-01T00:00:05Z"}])";
constexpr char kTerminal[] = R"([{"name": "1", "last_activity": "2026-01-01T00:00:07Z"}])";

NotebookActivity Parse(const char* kernels, const char* terminals = "[]",
                       const char* sessions = "[]") {
  return ParseActivity(kernels, terminals, sessions).value();
}

TEST(NotebookActivityTest, IsIdle_WithoutKernelsTerminalsAndSessions) {
  for (const char* type : {"kernels_or_terminals", "kernel_connections", "activity"}) {
    EXPECT_TRUE(IsIdle(type, Parse("[]"), {})) << type;
  }
}

TEST(NotebookActivityTest, IsActive_WhileKernelTerminalOrSessionExists) {
  const std::string type = "kernels_or_terminals";
  EXPECT_FALSE(IsIdle(type, Parse(kIdleKernel), {}));
  EXPECT_FALSE(IsIdle(type, Parse("[]", kTerminal), {}));
  EXPECT_FALSE(IsIdle(type, Parse("[]", "[]", "[{}]"), {}));
}

TEST(NotebookActivityTest, IsActive_WhileKernelHasConnections) {
  EXPECT_FALSE(IsIdle("kernel_connections", Parse(kBusyKernel), {}));
  EXPECT_TRUE(IsIdle("kernel_connections", Parse(kIdleKernel, kTerminal, "[{}]"), {}));
}

TEST(NotebookActivityTest, IsActive_WhileKernelIsBusyOrSomethingHappened) {
  const NotebookActivity idle = Parse(kIdleKernel);
  EXPECT_FALSE(IsIdle("activity", Parse(kBusyKernel), Parse(kBusyKernel)));
  EXPECT_FALSE(IsIdle("activity", idle, {})) << "the first check";
  EXPECT_TRUE(IsIdle("activity", idle, idle));
  EXPECT_FALSE(IsIdle("activity", Parse(kIdleKernel, kTerminal), idle));
}

TEST(NotebookActivityTest, ReturnsError_WhenAnswerIsNotList) {
  EXPECT_FALSE(ParseActivity(R"({"message": "Forbidden"})", "[]", "[]").ok());
  EXPECT_FALSE(ParseActivity("[]", "", "[]").ok());
}

}  // namespace
}  // namespace det::agent
