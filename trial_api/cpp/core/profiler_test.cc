#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "gtest/gtest.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/machine.h"
#include "trial_api/cpp/core/sampling_profiler.h"

namespace det::core {
namespace {

using std::chrono::milliseconds;

// A machine whose files and clock the test sets.
class MachineTest : public testing::Test {
 protected:
  MachineTest() {
    for (const char* folder : {"/proc/net", "/sys/block/sda"}) {
      EXPECT_TRUE(base::MakeDirs(dir_.path() + folder).ok());
    }
    Write("/proc/stat", "cpu  100 0 100 700 100 0 0 0 9 9\ncpu0 1 1 1 1\n");
    Write("/proc/diskstats",
          "   8 0 sda 10 0 1000 5 10 0 2000 5 0 5 10\n   8 1 sda1 10 0 900 5 10 0 900 5 0 5 10\n");
    Write("/proc/net/dev",
          "Inter-|   Receive\n face |bytes\n    lo: 9 0 0 0 0 0 0 0 9 0\n"
          "  eth0: 1000 0 0 0 0 0 0 0 500 0\n");
    Write("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable:    2097152 kB\n");
  }

  void Write(const std::string& path, const std::string& text) const {
    ASSERT_TRUE(base::WriteFile(dir_.path() + path, text).ok());
  }
  MachineSources Sources() {
    return {dir_.path(), [this] { return seconds_; }, [this] { return gpus_; }};
  }

  const base::TempDir dir_ = *base::TempDir::Create();
  double seconds_ = 10;
  std::string gpus_;
};

TEST_F(MachineTest, SamplesLoadSincePreviousSample) {
  Machine machine(Sources());
  seconds_ = 12;
  Write("/proc/stat", "cpu  150 0 125 800 125 0 0 0 9 9\n");
  Write("/proc/diskstats",
        "   8 0 sda 10 0 1004 5 10 0 2008 5 0 5 10\n   8 1 sda1 10 0 999 5 10 0 999 5 0 5 10\n");
  Write("/proc/net/dev", "a\nb\n    lo: 99 0 0 0 0 0 0 0 99 0\n  eth0:3000 0 0 0 0 0 0 0 600 0\n");
  gpus_ = "GPU-1, 40, 1000\nGPU-2, 60, 2000\nGPU-3, [N/A], 7\n";
  const MachineSample sample = machine.Sample();
  EXPECT_EQ(sample.at("cpu").at("cpu_util_simple"), 37.5);
  EXPECT_EQ(sample.at("disk"), (MetricMap{{"disk_throughput_read", 4 * 512 / 2.0},
                                          {"disk_throughput_write", 8 * 512 / 2.0}}));
  EXPECT_EQ(sample.at("network"),
            (MetricMap{{"net_throughput_recv", 1000}, {"net_throughput_sent", 50}}));
  EXPECT_EQ(sample.at("memory").at("memory_free"), 2.0);
  EXPECT_EQ(sample.at("gpu").at("GPU-1/gpu_util"), 40);
  EXPECT_EQ(sample.at("gpu").at("GPU-2/gpu_free_memory"), 2000);
  EXPECT_EQ(sample.at("gpu").at("GPU-3/gpu_free_memory"), 7);
  EXPECT_EQ(sample.at("gpu").count("GPU-3/gpu_util"), 0u);

  seconds_ = 13;
  EXPECT_EQ(machine.Sample().at("network").at("net_throughput_recv"), 0);
}

TEST(EmptyMachineTest, OmitsMissingValues) {
  const base::TempDir dir = *base::TempDir::Create();
  Machine machine({dir.path(), [] { return 1.0; }, [] { return ""; }});
  EXPECT_TRUE(machine.Sample().empty());
}

TEST(ThisMachineTest, SamplesCpuAndMemory) {
  MachineSources sources = ThisMachine();
  Machine machine(sources);
  const MachineSample sample = machine.Sample();
  EXPECT_GE(sample.at("cpu").at("cpu_util_simple"), 0);
  EXPECT_LE(sample.at("cpu").at("cpu_util_simple"), 100);
  EXPECT_GT(sample.at("memory").at("memory_free"), 0);
}

TEST(MeanTest, UsesOnlySamplesWithMetric) {
  EXPECT_EQ(Mean({{{"cpu", {{"util", 1}}}}, {{"cpu", {{"util", 2}}}, {"gpu", {{"util", 7}}}}}),
            (MachineSample{{"cpu", {{"util", 1.5}}}, {"gpu", {{"util", 7}}}}));
}

// Records the third report.
class ThirdReport final : public Metrics {
 public:
  void ReportTraining(int64_t, const MetricMap&) override {}
  bool ReportValidation(int64_t, const MetricMap&) override { return false; }
  void Report(const std::string& group, int64_t steps, const MetricMap&) override {
    if (steps == 3) third.set_value(group);
  }
  void ReportProgress(double) override {}
  void Flush() override {}

  std::promise<std::string> third;
};

TEST_F(MachineTest, ReportsUntilStopped) {
  ThirdReport metrics;
  const MachineSources sources{dir_.path() + "/none", [] { return 1.0; }, [] { return "G, 1, 2"; }};
  const auto profiler = MakeSamplingProfiler(&metrics, [&sources] { return sources; });
  profiler->On(milliseconds(100), 1);
  profiler->On(milliseconds(100), 1);  // The profiler is running already.
  EXPECT_EQ(metrics.third.get_future().get(), "gpu");
  profiler->Off();
  profiler->Off();
}

TEST(ProfilerTest, RejectsTooShortInterval) {
  for (const bool real : {false, true}) {
    ThirdReport metrics;
    const auto profiler = real ? MakeSamplingProfiler(&metrics, ThisMachine) : MakeNoProfiler();
    EXPECT_THROW(profiler->On(milliseconds(99), 1), Error);
    EXPECT_THROW(profiler->On(milliseconds(100), 0), Error);
  }
}

}  // namespace
}  // namespace det::core
