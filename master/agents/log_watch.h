// Reads the lines of tasks' logs for the log policies of their experiments and for the signs of
// broken hardware, and tells the cluster: once for each allocation, agent and policy.
//
// Owned by the hub; on any thread. The matching is done on the pool, off the engine's loop.
#ifndef MASTER_AGENTS_LOG_WATCH_H_
#define MASTER_AGENTS_LOG_WATCH_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "base/thread_pool.h"
#include "master/agents/log_patterns.h"
#include "master/core/cluster/event.h"
#include "master/core/model/ids.h"
#include "master/core/model/reports.h"
#include "master/engine/engine.h"

namespace det::agents {

class LogWatch : public std::enable_shared_from_this<LogWatch> {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // Must outlive the watch. `SetEngine` once, before the first Look.
  explicit LogWatch(base::ThreadPool* pool) : pool_(pool) {}
  void SetEngine(engine::Engine* engine) { engine_ = engine; }

  // `lines`: stored, of one allocation and one agent. `done` once the cluster has committed what
  // they mean, so that it knows before it hears of the task's end; UNAVAILABLE: they must come
  // again. REQUIRES a thread of the pool.
  void Look(std::vector<model::LogLine> lines, Done done);

  // The share has ended.
  void Forget(const model::AllocationId& allocation, const model::AgentId& agent);
  void Forget(const model::AgentId& agent);

 private:
  using Key = std::pair<std::string, std::string>;  // agent, allocation
  struct Watched {
    std::shared_ptr<const LogPatterns> patterns;
    // What the cluster knows already.
    std::vector<bool> told;  // by policy
    bool hardware_told = false;
  };
  struct News {
    std::vector<size_t> policies;
    bool hardware = false;
    std::vector<cluster::Event> events;
  };

  std::shared_ptr<Watched> Find(const Key& key) const;
  std::shared_ptr<Watched> Add(const Key& key, std::vector<model::LogPolicyConfig> policies);
  // Asks the loop for the policies, then goes on with Match.
  void LookUp(std::vector<model::LogLine> lines, Done done);
  void Match(const std::shared_ptr<Watched>& watched, const std::vector<model::LogLine>& lines,
             Done done);
  News Read(const Watched& watched, const std::vector<model::LogLine>& lines) const;
  void Tell(const std::shared_ptr<Watched>& watched, News news, Done done);

  base::ThreadPool* const pool_;
  engine::Engine* engine_ = nullptr;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Watched>> watched_;
  // Compiled once for equal policies, as most experiments have the built-in ones.
  std::map<std::string, std::weak_ptr<const LogPatterns>> compiled_;
};

}  // namespace det::agents

#endif  // MASTER_AGENTS_LOG_WATCH_H_
