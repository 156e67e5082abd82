#include "master/core/searcher/tournament.h"

#include <algorithm>
#include <string>
#include <utility>

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

Tournament::Tournament(const std::vector<Entrant>& entrants, std::unique_ptr<Sampler> sampler)
    : sampler_(std::move(sampler)) {
  for (const Entrant& entrant : entrants) {
    Halving::Options options = entrant.halving;
    options.prefix = entrants.size() > 1 ? absl::StrCat(seats_.size(), "-") : "";
    seats_.push_back(Seat{.halving = Halving(options), .share = entrant.share});
    max_slots_ += entrant.share;
  }
  DET_CHECK(max_slots_ > 0) << "brackets without a slot never end";
}

std::optional<Tournament::Place> Tournament::Locate(const RequestId& request) const {
  Place place;
  const std::vector<std::string> parts = absl::StrSplit(request.value(), '-');
  const bool prefixed = seats_.size() > 1;
  if (parts.size() != (prefixed ? 2 : 1)) return std::nullopt;
  if (prefixed && (!absl::SimpleAtoi(parts[0], &place.bracket) || place.bracket >= seats_.size())) {
    return std::nullopt;
  }
  if (!absl::SimpleAtoi(parts.back(), &place.trial)) return std::nullopt;
  return place;
}

std::vector<Operation> Tournament::Start(Context context) {
  std::vector<Operation> operations;
  Continue(context, operations);
  return operations;
}

std::vector<Operation> Tournament::OnReport(Context context, const Report& report) {
  const std::optional<Place> place = Locate(report.request);
  if (!place) return {};
  sampler_->OnReport(report);
  std::vector<Operation> operations = seats_[place->bracket].halving.OnReport(place->trial, report);
  Continue(context, operations);
  return operations;
}

std::vector<Operation> Tournament::OnTrialExited(Context context, const TrialExited& event) {
  const std::optional<Place> place = Locate(event.request);
  if (!place) return {};
  sampler_->OnExited(event.request, event.end);
  std::vector<Operation> operations =
      seats_[place->bracket].halving.OnExited(context, place->trial, event.end);
  Continue(context, operations);
  return operations;
}

void Tournament::Continue(Context context, std::vector<Operation>& operations) {
  int64_t slots = 0;
  for (const Seat& seat : seats_) slots += seat.halving.slots();
  for (; slots < max_slots_; ++slots) {
    std::optional<Operation> operation = TakeSlot(context);
    if (!operation) break;
    operations.push_back(*std::move(operation));
  }
  Halving::Ends ends;
  for (const Seat& seat : seats_) {
    if (!seat.halving.done()) return;
    ends.completed += seat.halving.ends().completed;
    ends.failed += seat.halving.ends().failed;
  }
  // One good trial makes a good search.
  operations.emplace_back(Shutdown{.failed = ends.completed == 0 && ends.failed > 0,
                                   .canceled = ends.completed == 0 && ends.failed == 0});
}

std::optional<Operation> Tournament::TakeSlot(Context context) {
  for (const bool beyond_its_share : {false, true}) {
    for (size_t b = 0; b < seats_.size(); ++b) {
      if ((seats_[b].halving.slots() >= seats_[b].share) != beyond_its_share) continue;
      if (auto operation = TakeSlot(context, b)) return operation;
    }
  }
  return std::nullopt;
}

std::optional<Operation> Tournament::TakeSlot(Context context, size_t bracket) {
  Halving& halving = seats_[bracket].halving;
  if (seats_.size() == 1) return halving.TakeSlot(context, *sampler_);
  const base::Rng rng = context.rng.Split(bracket);
  return halving.TakeSlot(Context{.space = context.space, .rng = rng}, *sampler_);
}

double Tournament::Progress(const std::map<RequestId, double>&) const {
  double done = 0, all = 0;
  for (const Seat& seat : seats_) {
    const auto trials = static_cast<double>(seat.halving.options().max_trials);
    done += trials * seat.halving.Progress();
    all += trials;
  }
  return std::min(1.0, done / all);
}

std::vector<Bracket> Tournament::Brackets() const {
  std::vector<Bracket> brackets;
  for (const Seat& seat : seats_) brackets.push_back(seat.halving.Describe());
  return brackets;
}

std::vector<int64_t> Tournament::ReportLengths(const RequestId& request) const {
  const std::optional<Place> place = Locate(request);
  if (!place) return {};
  return seats_[place->bracket].halving.rungs().lengths();
}

Plan Tournament::Preview(const model::SearchSpace&) const {
  Plan plan;
  for (const Seat& seat : seats_) plan.push_back(seat.halving.Preview());
  return plan;
}

Value Tournament::Snapshot() const {
  Value::List brackets;
  for (const Seat& seat : seats_) brackets.push_back(seat.halving.Snapshot());
  return Value::Object{{"brackets", std::move(brackets)}, {"sampler", sampler_->Snapshot()}};
}

absl::Status Tournament::Restore(const Value& snapshot) {
  DET_ASSIGN_OR_RETURN(const Value::List* brackets, ReadList(snapshot, "brackets"));
  const Value* sampler = snapshot.Find("sampler");
  if (sampler == nullptr || brackets->size() != seats_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "searcher snapshot: the sampler is missing, or brackets are not ", seats_.size()));
  }
  std::vector<Seat> restored = seats_;
  for (size_t b = 0; b < seats_.size(); ++b) {
    DET_RETURN_IF_ERROR(restored[b].halving.Restore((*brackets)[b]));
  }
  DET_RETURN_IF_ERROR(sampler_->Restore(*sampler));
  seats_ = std::move(restored);
  return absl::OkStatus();
}

}  // namespace det::searcher
