// The log policies of an experiment and the hardware patterns, compiled into one automaton, so that
// a line is scanned once.
//
// Shared by experiments with equal policies (log_watch.h); used on any thread.
#ifndef MASTER_AGENTS_LOG_PATTERNS_H_
#define MASTER_AGENTS_LOG_PATTERNS_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "master/core/model/extras_config.h"

namespace det::agents {

class LogPatterns {
 public:
  // Policies without a pattern, or with one that RE2 rejects, match nothing.
  explicit LogPatterns(std::vector<model::LogPolicyConfig> policies);
  ~LogPatterns();

  const std::vector<model::LogPolicyConfig>& policies() const { return policies_; }

  struct Found {
    std::vector<size_t> policies;  // in their order
    bool hardware = false;
    bool any() const { return hardware || !policies.empty(); }
  };
  Found Match(std::string_view line) const;

 private:
  struct Compiled;
  const std::vector<model::LogPolicyConfig> policies_;
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace det::agents

#endif  // MASTER_AGENTS_LOG_PATTERNS_H_
