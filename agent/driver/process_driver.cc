#include "agent/driver/process_driver.h"

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/driver/process_task.h"
#include "agent/driver/task_folders.h"
#include "agent/keeper/keeper_folder.h"
#include "agent/keeper/process_table.h"
#include "base/status_macros.h"

namespace det::agent {
namespace {

namespace fs = std::filesystem;

// The maximum time to kill processes without a task directory; such processes are not expected.
constexpr absl::Duration kKillTimeout = absl::Seconds(10);

class RealProcessDriver final : public ProcessDriver {
 public:
  explicit RealProcessDriver(const ProcessDriverOptions& options) : options_(options) {}

  void SetHost(const Host& host) override { host_ = host; }

  absl::StatusOr<std::vector<RunningTask>> Adopt() override {
    std::vector<RunningTask> adopted;
    TaskProcesses orphans{.marker = GetTaskMarker(options_.work_dir, AllocationId())};
    std::vector<fs::path> folders;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(options_.work_dir + "/tasks", error)) {
      folders.push_back(entry.path());
    }
    for (const fs::path& folder : folders) {
      const AllocationId allocation(folder.filename().string());
      const KeeperFolder keep = GetKeeperFolder(options_.work_dir, allocation);
      // A task that never started is removed; the master orders it again.
      (void)keep.CancelLaunch();
      const absl::StatusOr<Launch> launched = keep.ReadLaunch();
      if (!launched.ok()) {
        fs::remove_all(folder, error);
        continue;
      }
      adopted.push_back({allocation, launched->slots, launched->fraction});
      orphans.excluded.push_back(launched->marker);
      tasks_.emplace(allocation, std::make_unique<ProcessTask>(allocation, options_));
    }
    DET_RETURN_IF_ERROR(KillProcesses(orphans, kKillTimeout));
    return adopted;
  }

  void Start(const TaskSpec& spec) override {
    tasks_.erase(spec.allocation);
    tasks_.emplace(spec.allocation, std::make_unique<ProcessTask>(spec, host_, options_));
  }

  void Signal(const AllocationId& allocation, StopSignal signal) override {
    const auto task = tasks_.find(allocation);
    if (task != tasks_.end()) task->second->Signal(signal);
  }

  void Delivered(const AllocationId& allocation, int64_t sequence) override {
    const auto task = tasks_.find(allocation);
    if (task != tasks_.end()) task->second->Delivered(sequence);
  }

  void Forget(const AllocationId& allocation) override {
    const auto task = tasks_.find(allocation);
    if (task == tasks_.end() || !task->second->done()) return;
    tasks_.erase(task);
    RemoveTaskFolder(options_.work_dir, allocation);
  }

 private:
  const ProcessDriverOptions options_;
  Host host_;
  std::map<AllocationId, std::unique_ptr<ProcessTask>> tasks_;
};

}  // namespace

std::unique_ptr<ProcessDriver> MakeProcessDriver(const ProcessDriverOptions& options) {
  return std::make_unique<RealProcessDriver>(options);
}

std::string GetTaskMarker(const std::string& work_dir, const AllocationId& allocation) {
  const std::string tasks = absl::StrCat("DET_RUN_DIR=", work_dir, "/tasks/");
  return allocation.value().empty() ? tasks : absl::StrCat(tasks, allocation.value(), "/run");
}

}  // namespace det::agent
