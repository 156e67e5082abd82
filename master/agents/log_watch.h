// Checks log lines of tasks for matches of log policies and of hardware patterns, and reports them
// to the cluster: once per allocation, agent and policy.
//
// Owned by the hub; any thread. Matching runs on the pool, not on the engine's loop.
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

  // `pool` must outlive the watch. Call SetEngine once, before the first Check.
  explicit LogWatch(base::ThreadPool* pool) : pool_(pool) {}
  void SetEngine(engine::Engine* engine) { engine_ = engine; }

  // `lines` were stored, and are of one allocation and one agent. Calls `done` once the cluster has
  // committed the findings, so that it knows them before the task ends; UNAVAILABLE: the lines must
  // be sent again. REQUIRES a thread of the pool.
  void Check(std::vector<model::LogLine> lines, Done done);

  // The local task has ended.
  void Forget(const model::AllocationId& allocation, const model::AgentId& agent);
  void Forget(const model::AgentId& agent);

 private:
  using Key = std::pair<std::string, std::string>;  // agent, allocation
  struct Watched {
    std::shared_ptr<const LogPatterns> patterns;
    // What was reported to the cluster already.
    std::vector<bool> reported;  // indexed by policy
    bool hardware_reported = false;
  };
  struct Findings {
    std::vector<size_t> policies;
    bool hardware = false;
    std::vector<cluster::Event> events;
  };

  std::shared_ptr<Watched> Find(const Key& key) const;
  std::shared_ptr<Watched> Add(const Key& key, std::vector<model::LogPolicyConfig> policies);
  // Fetches the policies from the engine, then calls Match.
  void FetchPolicies(std::vector<model::LogLine> lines, Done done);
  void Match(const std::shared_ptr<Watched>& watched, const std::vector<model::LogLine>& lines,
             Done done);
  Findings Read(const Watched& watched, const std::vector<model::LogLine>& lines) const;
  void Report(const std::shared_ptr<Watched>& watched, Findings findings, Done done);

  base::ThreadPool* const pool_;
  engine::Engine* engine_ = nullptr;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Watched>> watched_;
  // Cached by policies, since most experiments have the built-in ones.
  std::map<std::string, std::weak_ptr<const LogPatterns>> compiled_;
};

}  // namespace det::agents

#endif  // MASTER_AGENTS_LOG_WATCH_H_
