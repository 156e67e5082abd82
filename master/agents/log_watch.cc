#include "master/agents/log_watch.h"

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "master/store/interfaces/canonical.h"

namespace det::agents {
namespace {

constexpr size_t kShownBytes = 500;  // of a line in messages

std::string MakePoliciesKey(const std::vector<model::LogPolicyConfig>& policies) {
  std::string text;
  for (const model::LogPolicyConfig& policy : policies) {
    for (const std::string* part : {&policy.name, &policy.pattern, &policy.action}) {
      absl::StrAppend(&text, part->size(), ":", *part);
    }
  }
  return text;
}

// Nullopt if the agent no longer has a local task of the allocation.
std::optional<std::vector<model::LogPolicyConfig>> GetPolicies(const cluster::Cluster& cluster,
                                                               const model::AllocationId& id,
                                                               const std::string& agent) {
  const experiment::Allocation* allocation = cluster.FindAllocation(id);
  if (allocation == nullptr) return std::nullopt;
  bool runs_on_agent = false;
  for (const experiment::LocalTask& local_task : allocation->local_tasks) {
    runs_on_agent =
        runs_on_agent || (local_task.placement.agent.value() == agent && !local_task.exited);
  }
  if (!runs_on_agent) return std::nullopt;
  // Only experiments have log policies; failing hardware is noticed in the log of every task.
  if (!experiment::IsTrial(*allocation)) return std::vector<model::LogPolicyConfig>();
  const experiment::Trial* trial = cluster.FindTrial(allocation->trial);
  if (trial == nullptr) return std::nullopt;
  const experiment::Experiment* experiment = cluster.FindExperiment(trial->experiment);
  if (experiment == nullptr) return std::nullopt;
  return experiment->config->log_policies;
}

// Combines several replies: UNAVAILABLE if any is, else OK. The engine logs other errors.
class Replies {
 public:
  Replies(size_t count, LogWatch::Done done) : left_(count), done_(std::move(done)) {}
  void Add(const absl::Status& status) {
    std::unique_lock lock(mutex_);
    if (absl::IsUnavailable(status)) status_.Update(status);
    if (--left_ > 0) return;
    lock.unlock();
    done_(status_);
  }

 private:
  std::mutex mutex_;
  size_t left_;
  absl::Status status_;
  LogWatch::Done done_;
};

}  // namespace

void LogWatch::Check(std::vector<model::LogLine> lines, Done done) {
  if (lines.empty()) return done(absl::OkStatus());
  const std::shared_ptr<Watched> watched = Find({lines[0].agent, lines[0].allocation.value()});
  if (watched == nullptr) return FetchPolicies(std::move(lines), std::move(done));
  Match(watched, lines, std::move(done));
}

void LogWatch::FetchPolicies(std::vector<model::LogLine> lines, Done done) {
  auto policies = std::make_shared<std::optional<std::vector<model::LogPolicyConfig>>>();
  // Before the lines are moved away: arguments are evaluated in any order.
  auto read = [policies, allocation = lines[0].allocation,
               agent = lines[0].agent](const cluster::Cluster& cluster) {
    *policies = GetPolicies(cluster, allocation, agent);
  };
  engine_->Query(std::move(read), [self = shared_from_this(), policies, lines = std::move(lines),
                                   done = std::move(done)](const absl::Status& status) mutable {
    if (!status.ok() || !policies->has_value()) return done(status);
    self->pool_->Post([self, policies, lines = std::move(lines), done = std::move(done)]() mutable {
      const Key key = {lines[0].agent, lines[0].allocation.value()};
      self->Match(self->Add(key, **std::move(policies)), lines, std::move(done));
    });
  });
}

std::shared_ptr<LogWatch::Watched> LogWatch::Find(const Key& key) const {
  std::lock_guard lock(mutex_);
  const auto found = watched_.find(key);
  return found == watched_.end() ? nullptr : found->second;
}

std::shared_ptr<LogWatch::Watched> LogWatch::Add(const Key& key,
                                                 std::vector<model::LogPolicyConfig> policies) {
  const std::string text = MakePoliciesKey(policies);
  auto made = std::make_shared<Watched>();
  made->reported.resize(policies.size());
  {
    std::lock_guard lock(mutex_);
    const auto compiled = compiled_.find(text);
    if (compiled != compiled_.end()) made->patterns = compiled->second.lock();
  }
  // Compiled without the mutex: it takes milliseconds, and the engine's loop may wait for it.
  if (made->patterns == nullptr) {
    made->patterns = std::make_shared<const LogPatterns>(std::move(policies));
  }
  std::lock_guard lock(mutex_);
  std::shared_ptr<Watched>& watched = watched_[key];
  if (watched != nullptr) return watched;
  std::erase_if(compiled_, [](const auto& entry) { return entry.second.expired(); });
  compiled_[text] = made->patterns;
  watched = std::move(made);
  return watched;
}

void LogWatch::Match(const std::shared_ptr<Watched>& watched,
                     const std::vector<model::LogLine>& lines, Done done) {
  Findings findings = Read(*watched, lines);
  if (findings.events.empty()) return done(absl::OkStatus());
  Report(watched, std::move(findings), std::move(done));
}

LogWatch::Findings LogWatch::Read(const Watched& watched,
                                  const std::vector<model::LogLine>& lines) const {
  std::vector<bool> reported;
  Findings findings;
  bool hardware_reported = false;
  {
    std::lock_guard lock(mutex_);
    reported = watched.reported;
    hardware_reported = watched.hardware_reported;
  }
  for (const model::LogLine& line : lines) {
    const LogPatterns::Found found =
        watched.patterns->Match(std::string(absl::StripSuffix(line.text, "\r")));
    for (const size_t i : found.policies) {
      if (reported[i]) continue;
      reported[i] = true;
      findings.policies.push_back(i);
      const model::LogPolicyConfig& policy = watched.patterns->policies()[i];
      cluster::LogPolicyMatched event;
      event.allocation = line.allocation;
      event.agent = model::AgentId(line.agent);
      event.policy = policy.name.empty() ? policy.pattern : policy.name;
      event.cancel_retries = policy.action == "cancel_retries";
      event.exclude_node = policy.action == "exclude_node";
      event.pattern = policy.pattern;
      event.line = store::SanitizeText(std::string_view(line.text).substr(0, kShownBytes));
      findings.events.emplace_back(std::move(event));
    }
    if (!found.hardware || hardware_reported) continue;
    hardware_reported = findings.hardware = true;
    cluster::HardwareSuspected event;
    event.allocation = line.allocation;
    event.agent = model::AgentId(line.agent);
    event.line = store::SanitizeText(std::string_view(line.text).substr(0, kShownBytes));
    findings.events.emplace_back(std::move(event));
  }
  return findings;
}

void LogWatch::Report(const std::shared_ptr<Watched>& watched, Findings findings, Done done) {
  std::vector<cluster::Event> events = std::move(findings.events);
  const auto replies = std::make_shared<Replies>(
      events.size(), [self = shared_from_this(), watched, findings = std::move(findings),
                      done = std::move(done)](absl::Status status) mutable {
        if (status.ok()) {
          std::lock_guard lock(self->mutex_);
          for (const size_t i : findings.policies) watched->reported[i] = true;
          watched->hardware_reported = watched->hardware_reported || findings.hardware;
        }
        done(std::move(status));
      });
  for (cluster::Event& event : events) {
    engine_->Submit(std::move(event), [replies](const absl::StatusOr<engine::Applied>& applied) {
      replies->Add(applied.status());
    });
  }
}

void LogWatch::Forget(const model::AllocationId& allocation, const model::AgentId& agent) {
  std::lock_guard lock(mutex_);
  watched_.erase({agent.value(), allocation.value()});
}

void LogWatch::Forget(const model::AgentId& agent) {
  std::lock_guard lock(mutex_);
  for (auto it = watched_.lower_bound({agent.value(), ""});
       it != watched_.end() && it->first.first == agent.value();) {
    it = watched_.erase(it);
  }
}

}  // namespace det::agents
