#include "master/webhooks/pattern_set.h"

#include <algorithm>
#include <utility>

#include "master/core/model/extras_config.h"
#include <re2/re2.h>
#include <re2/set.h>

namespace det::webhooks {
namespace {

RE2::Options MakeQuietOptions(int64_t memory) {
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(memory);
  return options;
}

// Memory limit for all patterns of a workspace.
constexpr int64_t kSetMemory = 4 * model::kLogPatternMemory;

}  // namespace

struct PatternSet::Impl {
  struct One {
    int32_t trigger = 0;
    std::unique_ptr<const RE2> pattern;
  };
  std::vector<One> all;  // in the order of the set
  RE2::Set set{MakeQuietOptions(kSetMemory), RE2::UNANCHORED};
  bool compiled = false;  // else the set exceeds its memory
};

PatternSet::PatternSet() : impl_(std::make_unique<Impl>()) {}
PatternSet::PatternSet(PatternSet&&) noexcept = default;
PatternSet::~PatternSet() = default;

void PatternSet::Add(int32_t trigger, const std::string& regex) {
  auto pattern = std::make_unique<const RE2>(regex, MakeQuietOptions(model::kLogPatternMemory));
  if (!pattern->ok() || impl_->set.Add(regex, nullptr) < 0) return;
  impl_->all.push_back({trigger, std::move(pattern)});
}

void PatternSet::Compile() { impl_->compiled = impl_->set.Compile(); }

std::vector<int32_t> PatternSet::Match(const std::string& line) const {
  std::vector<int32_t> found;
  std::vector<int> indices;
  RE2::Set::ErrorInfo error = {RE2::Set::kNoError};
  if (impl_->compiled && impl_->set.Match(line, &indices, &error)) {
    std::sort(indices.begin(), indices.end());
    for (const int index : indices) found.push_back(impl_->all[index].trigger);
    return found;
  }
  if (impl_->compiled && error.kind == RE2::Set::kNoError) return found;
  // The line needs more memory than the set has: match one by one.
  for (const Impl::One& one : impl_->all) {
    if (RE2::PartialMatch(line, *one.pattern)) found.push_back(one.trigger);
  }
  return found;
}

}  // namespace det::webhooks
