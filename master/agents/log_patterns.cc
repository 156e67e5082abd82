#include "master/agents/log_patterns.h"

#include <algorithm>
#include <string>
#include <utility>

#include "master/agents/hardware_patterns.h"
#include <re2/re2.h>
#include <re2/set.h>

namespace det::agents {

struct LogPatterns::Compiled {
  // An expression and its owner: the index of a policy, or kHardware.
  static constexpr size_t kHardware = static_cast<size_t>(-1);

  void Add(const std::string& pattern, size_t owner) {
    if (set.Add(pattern, nullptr) < 0) return;
    owners.push_back(owner);
    RE2::Options options(RE2::Quiet);
    options.set_max_mem(model::kLogPatternMemory);
    single.push_back(std::make_unique<RE2>(pattern, options));
  }

  // Matches one by one, if the combined automaton would be too large.
  std::vector<int> MatchSingly(std::string_view line) const {
    std::vector<int> found;
    for (size_t i = 0; i < single.size(); ++i) {
      if (RE2::PartialMatch(line, *single[i])) found.push_back(static_cast<int>(i));
    }
    return found;
  }

  std::vector<int> Match(std::string_view line) const {
    if (!usable) return MatchSingly(line);
    // First checks whether anything matches, which is cheap and usually false.
    RE2::Set::ErrorInfo error = {RE2::Set::kNoError};
    std::vector<int> found;
    const bool any = set.Match(line, nullptr, &error);
    if (any) set.Match(line, &found, &error);
    return error.kind == RE2::Set::kNoError ? found : MatchSingly(line);
  }

  RE2::Set set{RE2::Quiet, RE2::UNANCHORED};
  std::vector<size_t> owners;
  std::vector<std::unique_ptr<RE2>> single;
  bool usable = false;
};

LogPatterns::LogPatterns(std::vector<model::LogPolicyConfig> policies)
    : policies_(std::move(policies)) {
  auto compiled = std::make_unique<Compiled>();
  for (size_t i = 0; i < policies_.size(); ++i) {
    if (!policies_[i].pattern.empty()) compiled->Add(policies_[i].pattern, i);
  }
  for (const char* pattern : HardwarePatterns()) compiled->Add(pattern, Compiled::kHardware);
  compiled->usable = compiled->set.Compile();
  compiled_ = std::move(compiled);
}

LogPatterns::~LogPatterns() = default;

LogPatterns::Found LogPatterns::Match(std::string_view line) const {
  Found found;
  for (const int place : compiled_->Match(line)) {
    const size_t owner = compiled_->owners[static_cast<size_t>(place)];
    if (owner == Compiled::kHardware) {
      found.hardware = true;
    } else {
      found.policies.push_back(owner);
    }
  }
  std::sort(found.policies.begin(), found.policies.end());
  return found;
}

}  // namespace det::agents
