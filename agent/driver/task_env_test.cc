#include "agent/driver/task_env.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace det::agent {
namespace {

std::map<std::string, std::string> Env(const TaskSpec& spec, const Host& host,
                                       const std::map<std::string, std::string>& inherited) {
  std::map<std::string, std::string> env;
  for (const std::string& entry : TaskEnv(
           spec, host, {.work = "/w/tasks/1.1.0/work", .run = "/w/tasks/1.1.0/run"}, inherited)) {
    const size_t equals = entry.find('=');
    env[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return env;
}

TaskSpec Spec() {
  TaskSpec spec;
  spec.allocation = AllocationId("1.1.0");
  spec.task_id = "1.1";
  spec.slots = {0, 2};
  spec.session_token = "token";
  spec.user_token = "owner";
  return spec;
}

Host OneHost(DeviceType type) {
  return {.agent_id = "a1",
          .cluster_id = "c1",
          .master_url = "http://m:8080",
          .master_host = "m",
          .master_port = 8080,
          .address = "10.0.0.1",
          .sdk_dir = "/sdk",
          .cache_dir = "/w/cache",
          .devices = {{0, type, "", "GPU-a"}, {1, type, "", "GPU-b"}, {2, type, "", "GPU-c"}}};
}

TEST(TaskEnvTest, AppendsDirectoryOfDetToPath) {
  Host host = OneHost(DeviceType::kCpu);
  host.cli_dir = "/ours/bin";
  EXPECT_EQ(Env(Spec(), host, {{"PATH", "/usr/bin"}}).at("PATH"), "/sdk/bin:/usr/bin:/ours/bin");
}

TEST(TaskEnvTest, PassesPythonOfAgent_UnlessTaskHasItsOwn) {
  const Host host = OneHost(DeviceType::kCpu);
  const std::map<std::string, std::string> agent = {{"DET_PYTHON_EXECUTABLE", "/machine/python3"}};
  EXPECT_EQ(Env(Spec(), host, agent).at("DET_PYTHON_EXECUTABLE"), "/machine/python3");
  TaskSpec spec = Spec();
  spec.env["DET_PYTHON_EXECUTABLE"] = "/user/python3";
  EXPECT_EQ(Env(spec, host, agent).at("DET_PYTHON_EXECUTABLE"), "/user/python3");
}

TEST(TaskEnvTest, SetsDocumentedVariables) {
  const auto env = Env(Spec(), OneHost(DeviceType::kCpu), {{"PATH", "/usr/bin"}});
  const std::map<std::string, std::string> promised = {
      {"DET_MASTER", "http://m:8080"},
      {"DET_MASTER_HOST", "m"},
      {"DET_MASTER_PORT", "8080"},
      {"DET_CLUSTER_ID", "c1"},
      {"DET_AGENT_ID", "a1"},
      {"DET_TASK_ID", "1.1"},
      {"DET_ALLOCATION_ID", "1.1.0"},
      {"DET_SESSION_TOKEN", "token"},
      {"DET_USER_TOKEN", "owner"},
      {"DET_SLOT_IDS", "[0,2]"},
      {"DET_SLOT_TYPE", "cpu"},
      {"DET_WORKDIR", "/w/tasks/1.1.0/work"},
      {"DET_RUN_DIR", "/w/tasks/1.1.0/run"},
      {"DET_SDK_DIR", "/sdk"},
      {"DET_CACHE_DIR", "/w/cache"},
      {"DET_NODE_ADDRESS", "10.0.0.1"},
      {"DET_RESOURCES_ID", "a1"},
      {"DET_CONTAINER_ID", "a1"},
      {"DET_RESOURCES_TYPE", "docker-container"},
      {"DET_MASTER_ADDR", "m"},
      {"DET_USE_TLS", "false"},
      {"DET_SEGMENT_ENABLED", "false"},
      {"PATH", "/sdk/bin:/usr/bin"},
      {"CUDA_VISIBLE_DEVICES", ""},
  };
  for (const auto& [name, value] : promised) {
    ASSERT_TRUE(env.contains(name)) << name;
    EXPECT_EQ(env.at(name), value) << name;
  }
}

TEST(TaskEnvTest, SetsTlsVariables) {
  Host host = OneHost(DeviceType::kCpu);
  auto env = Env(Spec(), host, {});
  for (const char* name : {"DET_MASTER_CERT_FILE", "DET_MASTER_CERT_NAME"}) {
    EXPECT_FALSE(env.contains(name)) << name;
  }
  host.tls.on = true;  // verified with the system's CAs
  env = Env(Spec(), host, {});
  EXPECT_EQ(env.at("DET_USE_TLS"), "true");
  EXPECT_FALSE(env.contains("DET_MASTER_CERT_FILE"));
  host.tls.authority = "PEM";
  host.tls.master_name = "resolute";
  env = Env(Spec(), host, {});
  EXPECT_EQ(env.at("DET_MASTER_CERT_FILE"), "/w/tasks/1.1.0/run/master.crt");
  EXPECT_EQ(env.at("DET_MASTER_CERT_NAME"), "resolute");
}

TEST(TaskEnvTest, AppendsPythonPackagesLast) {
  Host host = OneHost(DeviceType::kCpu);
  EXPECT_FALSE(Env(Spec(), host, {}).contains("PYTHONPATH"));
  host.python_dir = "/ours";
  EXPECT_EQ(Env(Spec(), host, {}).at("PYTHONPATH"), "/ours");
  EXPECT_EQ(Env(Spec(), host, {{"PYTHONPATH", "/m"}}).at("PYTHONPATH"), "/m:/ours");
  TaskSpec spec = Spec();
  spec.env["PYTHONPATH"] = "/user";
  EXPECT_EQ(Env(spec, host, {{"PYTHONPATH", "/m"}}).at("PYTHONPATH"), "/user:/ours");
}

TEST(TaskEnvTest, NamesGpusByUuid) {
  TaskSpec spec = Spec();
  spec.env["CUDA_VISIBLE_DEVICES"] = "7";
  const auto env = Env(spec, OneHost(DeviceType::kCuda), {});
  EXPECT_EQ(env.at("DET_SLOT_TYPE"), "cuda");
  EXPECT_EQ(env.at("CUDA_VISIBLE_DEVICES"), "GPU-a,GPU-c");
}

TEST(TaskEnvTest, NamesMigInstancesByUuid) {
  Host host = OneHost(DeviceType::kCuda);
  host.devices = {{203, DeviceType::kCuda, "NVIDIA H200 MIG 1g.18gb", "MIG-a"}};
  TaskSpec spec = Spec();
  spec.slots = {203};
  EXPECT_EQ(Env(spec, host, {}).at("CUDA_VISIBLE_DEVICES"), "MIG-a");
}

TEST(TaskEnvTest, NamesAmdGpusByUuid) {
  const auto env = Env(Spec(), OneHost(DeviceType::kRocm), {});
  EXPECT_EQ(env.at("DET_SLOT_TYPE"), "rocm");
  EXPECT_EQ(env.at("ROCR_VISIBLE_DEVICES"), "GPU-a,GPU-c");
  EXPECT_FALSE(env.contains("CUDA_VISIBLE_DEVICES")) << "HIP would hide all of them";
}

TEST(TaskEnvTest, NamesTpusByNumber) {
  const auto env = Env(Spec(), OneHost(DeviceType::kTpu), {});
  EXPECT_EQ(env.at("DET_SLOT_TYPE"), "tpu");
  EXPECT_EQ(env.at("TPU_VISIBLE_CHIPS"), "0,2");
  EXPECT_EQ(env.at("PJRT_DEVICE"), "TPU");
}

TEST(TaskEnvTest, InheritsOnlyVariablesOfTheMachine) {
  const auto env = Env(Spec(), OneHost(DeviceType::kCpu),
                       {{"HOME", "/root"}, {"LC_ALL", "C"}, {"AWS_SECRET", "x"}, {"DET_X", "y"}});
  EXPECT_EQ(env.at("HOME"), "/root");
  EXPECT_EQ(env.at("LC_ALL"), "C");
  EXPECT_FALSE(env.contains("AWS_SECRET"));
  EXPECT_FALSE(env.contains("DET_X"));
  EXPECT_EQ(env.at("PATH"), "/sdk/bin:/usr/local/bin:/usr/bin:/bin");
}

TEST(TaskEnvTest, UserVariablesDoNotOverrideAgentVariables) {
  TaskSpec spec = Spec();
  spec.env = {{"LANG", "de"}, {"MINE", "1"}, {"PATH", "/mine"}, {"DET_AGENT_ID", "fake"}};
  const auto env = Env(spec, OneHost(DeviceType::kCpu), {{"LANG", "en"}, {"PATH", "/usr/bin"}});
  EXPECT_EQ(env.at("LANG"), "de");
  EXPECT_EQ(env.at("MINE"), "1");
  EXPECT_EQ(env.at("PATH"), "/sdk/bin:/mine");
  EXPECT_EQ(env.at("DET_AGENT_ID"), "a1");
}

}  // namespace
}  // namespace det::agent
