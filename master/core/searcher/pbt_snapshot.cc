// Snapshots of populations.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/searcher/pbt.h"
#include "master/core/searcher/snapshot.h"

namespace det::searcher {
namespace {

using model::RequestId;
using model::Value;

constexpr const char* kStates[] = {"planned", "running", "paused", "completed", "failed"};

Value ToValue(const Rung& rung) {
  Value::List arrivals;
  for (const Arrival& arrival : rung.arrivals) {
    arrivals.emplace_back(Value::Object{{"request", arrival.request.value()},
                                        {"loss", arrival.loss},
                                        {"let_on", arrival.outcome == Outcome::kContinued}});
  }
  return Value::Object{{"reported", rung.reported},
                       {"continued", rung.continued},
                       {"best_loss", rung.best_loss ? Value(*rung.best_loss) : Value()},
                       {"arrivals", std::move(arrivals)}};
}

// Old snapshots have no arrivals.
absl::StatusOr<std::vector<Arrival>> ReadArrivals(const Value& rung) {
  std::vector<Arrival> arrivals;
  if (rung.Find("arrivals") == nullptr) return arrivals;
  DET_ASSIGN_OR_RETURN(const Value::List* saved, ReadList(rung, "arrivals"));
  for (const Value& each : *saved) {
    Arrival& arrival = arrivals.emplace_back();
    DET_ASSIGN_OR_RETURN(const std::string request, ReadText(each, "request"));
    arrival.request = RequestId(request);
    DET_ASSIGN_OR_RETURN(arrival.loss, ReadNumber(each, "loss"));
    const Value* promoted = each.Find("let_on");
    const bool goes_on =
        promoted != nullptr && promoted->AsBool() != nullptr && *promoted->AsBool();
    arrival.outcome = goes_on ? Outcome::kContinued : Outcome::kStopped;
  }
  return arrivals;
}

}  // namespace

Value PopulationSearch::Snapshot() const {
  Value::List members, past;
  for (const Member& member : members_) {
    members.emplace_back(
        Value::Object{{"state", kStates[static_cast<size_t>(member.state)]},
                      {"request", member.request.value()},
                      {"parent", member.parent ? Value(member.parent->value()) : Value()},
                      {"hparams", member.hparams},
                      {"born", member.born},
                      {"length", member.length},
                      {"losses", Value::List(member.losses.begin(), member.losses.end())}});
  }
  for (const Rung& rung : past_) past.push_back(ToValue(rung));
  return Value::Object{{"created", counts_.created},     {"replaced", counts_.replaced},
                       {"completed", counts_.completed}, {"failed", counts_.failed},
                       {"canceled", counts_.canceled},   {"members", std::move(members)},
                       {"past", std::move(past)}};
}

absl::StatusOr<PopulationSearch::Member> PopulationSearch::ReadMember(const Value& saved) const {
  Member member;
  DET_ASSIGN_OR_RETURN(const std::string state, ReadText(saved, "state"));
  const auto known = std::find(std::begin(kStates), std::end(kStates), state);
  if (known == std::end(kStates)) {
    return absl::InvalidArgumentError(
        absl::StrCat("searcher snapshot: a member's state is ", state));
  }
  member.state = static_cast<State>(known - std::begin(kStates));
  DET_ASSIGN_OR_RETURN(const std::string request, ReadText(saved, "request"));
  member.request = RequestId(request);
  if (const Value* parent = saved.Find("parent"); parent != nullptr && parent->AsString()) {
    member.parent = RequestId(*parent->AsString());
  }
  DET_ASSIGN_OR_RETURN(const Value::Object* hparams, ReadObject(saved, "hparams"));
  member.hparams = *hparams;
  DET_ASSIGN_OR_RETURN(member.born, ReadCount(saved, "born"));
  DET_ASSIGN_OR_RETURN(member.length, ReadNumber(saved, "length"));
  DET_ASSIGN_OR_RETURN(member.losses, ReadNumbers(saved, "losses"));
  if (member.losses.size() != options_.objectives) {
    return absl::InvalidArgumentError(
        absl::StrCat("searcher snapshot: trial ", request, " has ", member.losses.size(),
                     " losses, the experiment has ", options_.objectives, " objectives"));
  }
  return member;
}

absl::Status PopulationSearch::Restore(const Value& snapshot) {
  PopulationSearch restored(options_);
  DET_ASSIGN_OR_RETURN(restored.counts_.created, ReadCount(snapshot, "created"));
  DET_ASSIGN_OR_RETURN(restored.counts_.replaced, ReadCount(snapshot, "replaced"));
  DET_ASSIGN_OR_RETURN(restored.counts_.completed, ReadCount(snapshot, "completed"));
  DET_ASSIGN_OR_RETURN(restored.counts_.failed, ReadCount(snapshot, "failed"));
  DET_ASSIGN_OR_RETURN(restored.counts_.canceled, ReadCount(snapshot, "canceled"));
  DET_ASSIGN_OR_RETURN(const Value::List* past, ReadList(snapshot, "past"));
  for (const Value& saved : *past) {
    Rung rung{.length = static_cast<double>(End(restored.generation_++))};
    DET_ASSIGN_OR_RETURN(rung.reported, ReadCount(saved, "reported"));
    DET_ASSIGN_OR_RETURN(rung.continued, ReadCount(saved, "continued"));
    if (const Value* best = saved.Find("best_loss"); best != nullptr) {
      rung.best_loss = best->AsNumber();
    }
    DET_ASSIGN_OR_RETURN(rung.arrivals, ReadArrivals(saved));
    restored.past_.push_back(std::move(rung));
  }
  if (restored.generation_ >= options_.population.generations) {
    return absl::InvalidArgumentError("searcher snapshot: past has too many generations");
  }
  DET_ASSIGN_OR_RETURN(const Value::List* members, ReadList(snapshot, "members"));
  for (const Value& saved : *members) {
    DET_ASSIGN_OR_RETURN(Member member, ReadMember(saved));
    restored.members_.push_back(std::move(member));
  }
  *this = std::move(restored);
  return absl::OkStatus();
}

}  // namespace det::searcher
