#include "master/core/searcher/multi_bracket.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "master/core/searcher/snapshot.h"

namespace det::searcher {
namespace {

using model::RequestId;
using model::Value;

}  // namespace

MultiBracketSearch::MultiBracketSearch(const std::vector<BracketOptions>& brackets,
                                       std::unique_ptr<Sampler> sampler)
    : sampler_(std::move(sampler)) {
  for (const BracketOptions& bracket : brackets) {
    Halving::Options options = bracket.halving;
    options.prefix = brackets.size() > 1 ? absl::StrCat(brackets_.size(), "-") : "";
    brackets_.push_back(BracketState{.halving = Halving(options), .share = bracket.share});
    max_concurrent_ += bracket.share;
  }
  DET_CHECK(max_concurrent_ > 0) << "without a concurrency limit above 0 the search never ends";
}

std::optional<MultiBracketSearch::Location> MultiBracketSearch::Locate(
    const RequestId& request) const {
  Location location;
  const std::vector<std::string> parts = absl::StrSplit(request.value(), '-');
  const bool prefixed = brackets_.size() > 1;
  if (parts.size() != (prefixed ? 2 : 1)) return std::nullopt;
  if (prefixed &&
      (!absl::SimpleAtoi(parts[0], &location.bracket) || location.bracket >= brackets_.size())) {
    return std::nullopt;
  }
  if (!absl::SimpleAtoi(parts.back(), &location.trial)) return std::nullopt;
  return location;
}

std::vector<Operation> MultiBracketSearch::Start(Context context) {
  std::vector<Operation> operations;
  Continue(context, operations);
  return operations;
}

std::vector<Operation> MultiBracketSearch::OnReport(Context context, const Report& report) {
  const std::optional<Location> location = Locate(report.request);
  if (!location) return {};
  sampler_->OnReport(report);
  std::vector<Operation> operations =
      brackets_[location->bracket].halving.OnReport(location->trial, report);
  Continue(context, operations);
  return operations;
}

std::vector<Operation> MultiBracketSearch::OnTrialExited(Context context,
                                                         const TrialExited& event) {
  const std::optional<Location> location = Locate(event.request);
  if (!location) return {};
  sampler_->OnExited(event.request, event.end);
  std::vector<Operation> operations =
      brackets_[location->bracket].halving.OnExited(context, location->trial, event.end);
  Continue(context, operations);
  return operations;
}

void MultiBracketSearch::Continue(Context context, std::vector<Operation>& operations) {
  int64_t running = 0;
  for (const BracketState& bracket : brackets_) running += bracket.halving.running();
  for (; running < max_concurrent_; ++running) {
    std::optional<Operation> operation = StartNext(context);
    if (!operation) break;
    operations.push_back(*std::move(operation));
  }
  Halving::Ends ends;
  for (const BracketState& bracket : brackets_) {
    if (!bracket.halving.done()) return;
    ends.completed += bracket.halving.ends().completed;
    ends.failed += bracket.halving.ends().failed;
  }
  // A search succeeds if one trial completes.
  operations.emplace_back(Shutdown{.failed = ends.completed == 0 && ends.failed > 0,
                                   .canceled = ends.completed == 0 && ends.failed == 0});
}

std::optional<Operation> MultiBracketSearch::StartNext(Context context) {
  for (const bool beyond_its_share : {false, true}) {
    for (size_t b = 0; b < brackets_.size(); ++b) {
      if ((brackets_[b].halving.running() >= brackets_[b].share) != beyond_its_share) continue;
      if (auto operation = StartNext(context, b)) return operation;
    }
  }
  return std::nullopt;
}

std::optional<Operation> MultiBracketSearch::StartNext(Context context, size_t bracket) {
  Halving& halving = brackets_[bracket].halving;
  if (brackets_.size() == 1) return halving.StartNext(context, *sampler_);
  const base::Rng rng = context.rng.Split(bracket);
  return halving.StartNext(Context{.space = context.space, .rng = rng}, *sampler_);
}

double MultiBracketSearch::Progress(const std::map<RequestId, double>&) const {
  double done = 0;
  double all = 0;
  for (const BracketState& bracket : brackets_) {
    const auto trials = static_cast<double>(bracket.halving.options().max_trials);
    done += trials * bracket.halving.Progress();
    all += trials;
  }
  return std::min(1.0, done / all);
}

std::vector<Bracket> MultiBracketSearch::Brackets() const {
  std::vector<Bracket> brackets;
  for (const BracketState& bracket : brackets_) brackets.push_back(bracket.halving.Describe());
  return brackets;
}

std::vector<int64_t> MultiBracketSearch::ReportLengths(const RequestId& request) const {
  const std::optional<Location> location = Locate(request);
  if (!location) return {};
  return brackets_[location->bracket].halving.rungs().lengths();
}

Plan MultiBracketSearch::Preview(const model::SearchSpace&) const {
  Plan plan;
  for (const BracketState& bracket : brackets_) plan.push_back(bracket.halving.Preview());
  return plan;
}

Value MultiBracketSearch::Snapshot() const {
  Value::List brackets;
  for (const BracketState& bracket : brackets_) brackets.push_back(bracket.halving.Snapshot());
  return Value::Object{{"brackets", std::move(brackets)}, {"sampler", sampler_->Snapshot()}};
}

absl::Status MultiBracketSearch::Restore(const Value& snapshot) {
  DET_ASSIGN_OR_RETURN(const Value::List* brackets, ReadList(snapshot, "brackets"));
  const Value* sampler = snapshot.Find("sampler");
  if (sampler == nullptr || brackets->size() != brackets_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "searcher snapshot: the sampler is missing, or brackets are not ", brackets_.size()));
  }
  std::vector<BracketState> restored = brackets_;
  for (size_t b = 0; b < brackets_.size(); ++b) {
    DET_RETURN_IF_ERROR(restored[b].halving.Restore((*brackets)[b]));
  }
  DET_RETURN_IF_ERROR(sampler_->Restore(*sampler));
  brackets_ = std::move(restored);
  return absl::OkStatus();
}

}  // namespace det::searcher
