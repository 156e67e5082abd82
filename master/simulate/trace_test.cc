#include "master/simulate/trace.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::simulate {
namespace {

TraceOptions Large() {
  TraceOptions options;
  options.jobs = 20'000;
  return options;
}

double Work(const Job& job) { return job.slots * absl::ToDoubleSeconds(job.length); }

TEST(Trace, DependsOnSeed) {
  TraceOptions options;
  options.jobs = 500;
  EXPECT_EQ(MakeTrace(options), MakeTrace(options));
  TraceOptions other = options;
  other.seed = 2;
  EXPECT_NE(MakeTrace(options), MakeTrace(other));
}

TEST(Trace, ChangesOnlyWhatOptionDescribes) {
  TraceOptions options;
  options.jobs = 500;
  TraceOptions with_run_times = options;
  with_run_times.run_times = 1;
  Workload timed = MakeTrace(with_run_times);
  for (Job& job : timed) {
    ASSERT_TRUE(job.max_run_time.has_value());
    EXPECT_GE(*job.max_run_time, job.length);
    job.max_run_time.reset();
  }
  EXPECT_EQ(timed, MakeTrace(options));
}

TEST(Trace, OffersRequestedLoad) {
  for (const double load : {0.3, 0.9, 1.5}) {
    TraceOptions options = Large();
    options.load = load;
    const Workload trace = MakeTrace(options);
    double work = 0;
    for (const Job& job : trace) work += Work(job);
    const double window = absl::ToDoubleSeconds(trace.back().arrival - trace.front().arrival);
    EXPECT_NEAR(work / (window * options.cluster_slots), load, 0.01 * load);
    EXPECT_TRUE(std::is_sorted(trace.begin(), trace.end(),
                               [](const Job& a, const Job& b) { return a.arrival < b.arrival; }));
  }
}

// Half of the jobs have one slot and use little; a tenth of the jobs uses most.
TEST(Trace, HasHeavyTails) {
  Workload trace = MakeTrace(Large());
  const auto count = [&](auto is) {
    return static_cast<double>(std::count_if(trace.begin(), trace.end(), is)) /
           static_cast<double>(trace.size());
  };
  EXPECT_NEAR(count([](const Job& j) { return j.slots == 1; }), 0.52, 0.03);
  EXPECT_GT(count([](const Job& j) { return (j.slots & (j.slots - 1)) == 0; }), 0.95);
  EXPECT_GT(count([](const Job& j) { return j.slots > 64; }), 0.005);
  EXPECT_LT(count([](const Job& j) { return j.length < absl::Minutes(10); }), 0.7);
  EXPECT_GT(count([](const Job& j) { return j.length < absl::Minutes(10); }), 0.4);
  EXPECT_GT(count([](const Job& j) { return j.length > absl::Hours(12); }), 0.005);
  double all = 0;
  double of_the_largest = 0;
  std::sort(trace.begin(), trace.end(),
            [](const Job& a, const Job& b) { return Work(a) > Work(b); });
  for (size_t i = 0; i < trace.size(); ++i) {
    all += Work(trace[i]);
    if (i < trace.size() / 10) of_the_largest += Work(trace[i]);
    EXPECT_LE(trace[i].length, absl::Hours(72));
    EXPECT_GE(trace[i].length, absl::Seconds(10));
    EXPECT_LE(trace[i].slots, 512);
  }
  EXPECT_GT(of_the_largest / all, 0.8);
}

TEST(Trace, HasFewHeavyUsers) {
  std::map<std::string, int> jobs;
  std::map<std::string, std::string> workspace;
  for (const Job& job : MakeTrace(Large())) {
    ++jobs[job.user];
    EXPECT_EQ(workspace.emplace(job.user, job.workspace).first->second, job.workspace);
  }
  EXPECT_EQ(jobs.size(), 64u);
  EXPECT_GT(jobs["user-1"], 5 * jobs["user-10"]);
}

TEST(Trace, HasDailyCycle) {
  TraceOptions options = Large();
  options.cluster_slots = 500;  // a window of many days
  int afternoon = 0;
  int night = 0;
  for (const Job& job : MakeTrace(options)) {
    const int64_t hour = absl::ToInt64Hours(job.arrival) % 24;
    afternoon += hour >= 12 && hour < 18 ? 1 : 0;
    night += hour < 6 ? 1 : 0;
  }
  EXPECT_GT(afternoon, 2 * night);
}

TEST(Trace, FitsSmallCluster) {
  TraceOptions options;
  options.jobs = 300;
  options.cluster_slots = 3;
  for (const Job& job : MakeTrace(options)) EXPECT_LE(job.slots, 3);
}

}  // namespace
}  // namespace det::simulate
