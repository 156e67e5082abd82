#include "master/agents/log_patterns.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::agents {
namespace {

using ::testing::ElementsAre;

std::vector<model::LogPolicyConfig> Policies(
    const std::vector<std::pair<std::string, std::string>>& named) {
  std::vector<model::LogPolicyConfig> policies;
  for (const auto& [name, pattern] : named) policies.push_back({name, pattern, ""});
  return policies;
}

TEST(LogPatternsTest, FindsPoliciesAnywhereInLine) {
  const LogPatterns patterns(
      Policies({{"a", "loss is nan"}, {"off", ""}, {"b", "^rank \\d+"}, {"c", ".*is nan.*"}}));
  EXPECT_THAT(patterns.Match("step 3: loss is nan!").policies, ElementsAre(0, 3));
  EXPECT_THAT(patterns.Match("rank 12 has loss is nan").policies, ElementsAre(0, 2, 3));
  EXPECT_THAT(patterns.Match(" rank 12").policies, ElementsAre());
  EXPECT_FALSE(patterns.Match("").any());
  EXPECT_FALSE(patterns.Match(std::string("\xff\0loss", 6)).any());
}

TEST(LogPatternsTest, MatchesBuiltinPolicies) {
  const LogPatterns patterns(model::BuiltInLogPolicies());
  const auto oom = patterns.Match("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB");
  EXPECT_THAT(oom.policies, ElementsAre(0));
  EXPECT_FALSE(oom.hardware);
  const auto ecc = patterns.Match("CUDA error: uncorrectable ECC error encountered");
  EXPECT_THAT(ecc.policies, ElementsAre(1));
  EXPECT_TRUE(ecc.hardware);
}

TEST(LogPatternsTest, IgnoresInvalidExpression) {
  const LogPatterns patterns(Policies({{"bad", "("}, {"good", "x"}}));
  EXPECT_THAT(patterns.Match("x(").policies, ElementsAre(1));
}

TEST(LogPatternsTest, MatchesManyPatterns) {
  std::vector<std::pair<std::string, std::string>> many;
  // All patterns together exceed RE2's memory limit for one program; each alone does not.
  for (int i = 0; i < 20; ++i) {
    many.emplace_back("p" + std::to_string(i), "^(abcdefghij){1000}" + std::to_string(i) + "!");
  }
  const LogPatterns patterns(Policies(many));
  std::string line;
  for (int i = 0; i < 1000; ++i) line += "abcdefghij";
  EXPECT_THAT(patterns.Match(line + "7!").policies, ElementsAre(7));
  EXPECT_THAT(patterns.Match(line + "7").policies, ElementsAre());
  EXPECT_TRUE(patterns.Match("GPU is lost").hardware);
}

TEST(HardwarePatternsTest, MatchesBrokenHardware) {
  const LogPatterns patterns({});
  for (const char* line : {
           "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.",
           "[ 12.3] NVRM: Xid (PCI:0000:10:1c): 48, pid='<unknown>', DBE",
           "NVRM: Xid (PCI:0000:10:1c): 74, pid=77, NVLink: fatal error detected on link 6",
           "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.",
           "NVRM: GPU at 0000:01:00.0 has fallen off the bus.",
           "Unable to determine the device handle for GPU 0000:04:00.0: GPU is lost.",
           "RuntimeError: CUDA error: uncorrectable ECC error encountered",
           "Cuda failure 'uncorrectable ECC error encountered'",
           "what():  CUDA error: Uncorrectable NVLink error detected during the execution",
           "cudaErrorECCUncorrectable: uncorrectable",
           "failed with CUDA_ERROR_NVLINK_UNCORRECTABLE (220)",
           "amdgpu 0000:63:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block",
       }) {
    EXPECT_TRUE(patterns.Match(line).hardware) << line;
  }
}

TEST(HardwarePatternsTest, IgnoresProgramErrors) {
  const LogPatterns patterns({});
  for (const char* line : {
           "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB",
           "torch.cuda.OutOfMemoryError: CUDA out of memory.",
           "RuntimeError: CUDA error: device-side assert triggered",
           "CUDA error: an illegal memory access was encountered",
           "CUDA error: unspecified launch failure",
           "CUDA error: all CUDA-capable devices are busy or unavailable",
           "CUDA error: no kernel image is available for execution on the device",
           "CUDA error: invalid device ordinal",
           "NVRM: Xid (PCI:0000:3b:00): 13, pid=1234, Graphics Exception: ESR 0x404490=0x80000001",
           "NVRM: Xid (PCI:0000:3b:00): 31, pid=1234, MMU Fault",
           "NVRM: Xid (PCI:0000:3b:00): 43, pid=1234, Ch 00000010",
           "NVRM: Xid (PCI:0000:3b:00): 480, pid=1",
           "Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f",
           "0 corrected ECC errors",
           "NCCL WARN NET/IB : Got completion with error 12",
           "Segmentation fault (core dumped)",
           "Killed",
           "the bus has fallen off the GPU of love",
           "epoch 48: loss 74.79",
       }) {
    EXPECT_FALSE(patterns.Match(line).hardware) << line;
  }
}

}  // namespace
}  // namespace det::agents
