// Contract tests of Driver: the test of each implementation instantiates the suite with a harness
// that provides the commands for each behavior. Included by tests only.
#ifndef AGENT_DRIVER_DRIVER_CONTRACT_H_
#define AGENT_DRIVER_DRIVER_CONTRACT_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agent/driver/driver.h"
#include <gtest/gtest.h>

namespace det::agent {

// Records everything that a driver reports.
class Recorder final : public TaskListener {
 public:
  struct Record {
    // "started", "output", "exited"; consecutive outputs are one entry
    std::vector<std::string> calls;
    std::vector<OutputLine> lines;
    int pid = 0;
    TaskExit exit;
    bool output_ended = false;
    bool exited() const { return !calls.empty() && calls.back() == "exited"; }
    bool started() const { return !calls.empty() && calls.front() == "started"; }
  };

  void OnStarted(const AllocationId& id, int pid) override {
    std::lock_guard lock(mutex_);
    records_[id].calls.push_back("started");
    records_[id].pid = pid;
    changed_.notify_all();
  }
  void OnOutput(const AllocationId& id, std::vector<OutputLine> lines) override {
    std::lock_guard lock(mutex_);
    Record& record = records_[id];
    if (record.calls.empty() || record.calls.back() != "output") record.calls.push_back("output");
    for (OutputLine& line : lines) record.lines.push_back(std::move(line));
    changed_.notify_all();
  }
  void OnExited(const AllocationId& id, const TaskExit& exit) override {
    std::lock_guard lock(mutex_);
    records_[id].calls.push_back("exited");
    records_[id].exit = exit;
    changed_.notify_all();
  }

  void OnOutputEnded(const AllocationId& id) override {
    std::lock_guard lock(mutex_);
    records_[id].output_ended = true;
    changed_.notify_all();
  }

  // Forgets an allocation before it runs again.
  void Forget(const AllocationId& id) {
    std::lock_guard lock(mutex_);
    records_.erase(id);
  }
  Record Get(const AllocationId& id) const {
    std::lock_guard lock(mutex_);
    const auto record = records_.find(id);
    return record == records_.end() ? Record{} : record->second;
  }
  bool WaitUntil(const AllocationId& id, const std::function<bool(const Record&)>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30),
                             [&] { return condition(records_[id]); });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<AllocationId, Record> records_;
};

// One driver under test.
class DriverHarness {
 public:
  virtual ~DriverHarness() = default;
  virtual Driver& driver() = 0;
  // Replaces the driver by a new one for the same machine and directory.
  virtual void ReplaceDriver() = 0;
  virtual Recorder& recorder() = 0;
  // Waits, or advances virtual time, until the condition holds.
  virtual bool WaitUntil(const AllocationId& id,
                         const std::function<bool(const Recorder::Record&)>& condition) = 0;

  // Commands that: print the line "hello" and exit with code 3; run forever; print "hello", ignore
  // SIGTERM and run forever; cannot be started.
  virtual std::vector<std::string> PrintHelloAndExit3() = 0;
  virtual std::vector<std::string> RunForever() = 0;
  virtual std::vector<std::string> PrintHelloAndIgnoreSigterm() = 0;
  virtual std::vector<std::string> CannotStart() = 0;

  TaskSpec Spec(const std::string& id, std::vector<std::string> argv) {
    TaskSpec spec;
    spec.allocation = AllocationId(id);
    spec.argv = std::move(argv);
    return spec;
  }
};

using HarnessFactory = std::function<std::unique_ptr<DriverHarness>()>;

class DriverContract : public testing::TestWithParam<HarnessFactory> {
 protected:
  using Record = Recorder::Record;
  void SetUp() override { harness_ = GetParam()(); }

  bool WaitUntilExited(const AllocationId& id) {
    return harness_->WaitUntil(id, [](const Record& record) { return record.exited(); });
  }
  bool WaitUntilStarted(const AllocationId& id) {
    return harness_->WaitUntil(id, [](const Record& record) { return record.started(); });
  }
  bool WaitUntilOutput(const AllocationId& id) {
    return harness_->WaitUntil(id, [](const Record& record) { return !record.lines.empty(); });
  }
  // Simulates a kill and restart of the agent.
  std::vector<RunningTask> Restart() {
    harness_->ReplaceDriver();
    for (const AllocationId& id : {a_, b_}) harness_->recorder().Forget(id);
    const auto adopted = harness_->driver().Adopt();
    EXPECT_TRUE(adopted.ok()) << adopted.status();
    return adopted.value_or(std::vector<RunningTask>());
  }
  Record Get(const AllocationId& id) { return harness_->recorder().Get(id); }

  std::unique_ptr<DriverHarness> harness_;
  const AllocationId a_{"1.1.0"};
  const AllocationId b_{"1.2.0"};
};

}  // namespace det::agent

#endif  // AGENT_DRIVER_DRIVER_CONTRACT_H_
