// The log policies of an experiment and the patterns of broken hardware, compiled into one
// automaton: a line is read once, however many there are.
//
// Made once for equal policies (log_watch.h); used on any thread.
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
  // Policies without a pattern, and with one that RE2 does not take, match nothing.
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
