#include "master/core/searcher/full_length.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/searcher/space.h"

namespace det::searcher {
namespace {

using model::RequestId;
using model::Value;

}  // namespace

std::vector<Operation> FullLengthSearch::Start(Context context) { return Continue(context); }

std::vector<Operation> FullLengthSearch::OnReport(Context, const Report& report) {
  sampler_->OnReport(report);
  return {};
}

std::vector<Operation> FullLengthSearch::OnTrialExited(Context context, const TrialExited& event) {
  sampler_->OnExited(event.request, event.end);
  switch (event.end) {
    case TrialEnd::kCompleted:
      ++counts_.completed;
      break;
    case TrialEnd::kCanceled:
      ++counts_.canceled;
      break;
    case TrialEnd::kInvalidHp:
      // Another sample of a single point would be the same invalid one.
      if (counts_.replaced < options_.max_replacements && !IsSinglePoint(context.space)) {
        ++counts_.replaced;
      } else {
        ++counts_.failed;
      }
      break;
    case TrialEnd::kFailed:
      ++counts_.failed;
      break;
  }
  return Continue(context);
}

std::vector<Operation> FullLengthSearch::Continue(Context context) {
  std::vector<Operation> operations;
  const int64_t limit =
      options_.max_concurrent_trials > 0 ? options_.max_concurrent_trials : options_.max_trials;
  while (counts_.created - counts_.replaced < options_.max_trials && live() < limit) {
    operations.emplace_back(MakeTrial(context, *sampler_, ++counts_.created));
  }
  if (ended() >= options_.max_trials) {
    // One good trial makes a good search.
    const bool fruitless = counts_.completed == 0;
    operations.emplace_back(Shutdown{.failed = fruitless && counts_.failed > 0,
                                     .canceled = fruitless && counts_.failed == 0});
  }
  return operations;
}

double FullLengthSearch::Progress(const std::map<RequestId, double>& trial_progress) const {
  double done = static_cast<double>(ended());
  for (const auto& [request, progress] : trial_progress) done += progress;
  return std::min(1.0, done / static_cast<double>(options_.max_trials));
}

Value FullLengthSearch::Snapshot() const {
  return Value::Object{{"created", counts_.created},     {"replaced", counts_.replaced},
                       {"completed", counts_.completed}, {"failed", counts_.failed},
                       {"canceled", counts_.canceled},   {"sampler", sampler_->Snapshot()}};
}

Plan FullLengthSearch::Preview(const model::SearchSpace&) const {
  return {{{.trials = options_.max_trials, .length = options_.max_length}}};
}

absl::Status FullLengthSearch::Restore(const Value& snapshot) {
  Counts counts;
  const std::pair<const char*, int64_t*> members[] = {{"created", &counts.created},
                                                      {"replaced", &counts.replaced},
                                                      {"completed", &counts.completed},
                                                      {"failed", &counts.failed},
                                                      {"canceled", &counts.canceled}};
  for (const auto& [name, count] : members) {
    const Value* value = snapshot.Find(name);
    if (value == nullptr || value->AsInt() == nullptr || *value->AsInt() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("searcher snapshot: the method's ", name, " is missing or no count"));
    }
    *count = *value->AsInt();
  }
  const Value* sampler = snapshot.Find("sampler");
  if (sampler == nullptr) {
    return absl::InvalidArgumentError("searcher snapshot: the method's sampler is missing");
  }
  DET_RETURN_IF_ERROR(sampler_->Restore(*sampler));
  counts_ = counts;
  return absl::OkStatus();
}

}  // namespace det::searcher
