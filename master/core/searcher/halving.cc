#include "master/core/searcher/halving.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/searcher/snapshot.h"
#include "master/core/searcher/space.h"

namespace det::searcher {
namespace {

using model::RequestId;
using model::Value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Halving::Halving(const Options& options)
    : options_(options),
      rungs_(options.lengths),
      coming_(options.lengths.size()),
      paused_(options.lengths.size()) {}

RequestId Halving::Request(int64_t trial) const {
  return RequestId(absl::StrCat(options_.prefix, trial));
}

std::optional<Operation> Halving::StartNext(Context context, Sampler& sampler) {
  if (const std::optional<int64_t> number = Promotable()) {
    Advance(*number, live_.at(*number));
    ++running_;
    return ResumeTrial{Request(*number)};
  }
  if (AllCreated()) return std::nullopt;
  live_.emplace(++created_, Trial{.last_loss = kInfinity});
  ++coming_[0];
  ++running_;
  return MakeTrial(context, sampler, created_, options_.prefix);
}

std::vector<Operation> Halving::OnReport(int64_t number, const Report& report) {
  const auto it = live_.find(number);
  if (it == live_.end() || it->second.state != State::kRunning) return {};
  Trial& trial = it->second;
  trial.last_loss = report.losses.front();
  std::vector<Operation> operations;
  while (trial.state == State::kRunning &&
         report.length >= static_cast<double>(rungs_.length(trial.rung))) {
    --coming_[trial.rung];
    if (Arrive(number, trial, report)) {
      trial.state = State::kStopped;
      operations.emplace_back(StopTrial{Request(number)});
    }
  }
  // A trial that is promoted immediately is not paused.
  if (trial.state == State::kPaused && Promotable() == number) Advance(number, trial);
  const bool waited = trial.state == State::kPaused;
  Settle(operations);
  if (waited && trial.state == State::kPaused) {
    --running_;
    operations.emplace_back(PauseTrial{Request(number)});
  } else if (waited) {
    trial.state = State::kStopped;
  }
  return operations;
}

bool Halving::Continues(size_t rung, double loss, int64_t better) const {
  const int64_t keep = Keep(rung, true);
  return better < keep && (rungs_.equal(rung, loss) == 1 || rungs_.continued(rung) < keep);
}

bool Halving::Arrive(int64_t number, Trial& trial, const Report& report) {
  const double loss = trial.last_loss;
  const int64_t better = rungs_.Add(trial.rung, {loss, number});
  if (trial.rung == rungs_.top() || !std::isfinite(loss)) return true;
  if (options_.rule == Rule::kStop && !Continues(trial.rung, loss, better)) return true;
  if (options_.rule == Rule::kStop ||
      report.length >= static_cast<double>(rungs_.length(trial.rung + 1))) {
    Advance(number, trial);
  } else {
    trial.state = State::kPaused;
    paused_[trial.rung].insert({loss, number});
  }
  return false;
}

void Halving::Advance(int64_t number, Trial& trial) {
  if (trial.state == State::kPaused) paused_[trial.rung].erase({trial.last_loss, number});
  rungs_.RecordPromoted(trial.rung, number);
  trial.state = State::kRunning;
  ++coming_[++trial.rung];
}

int64_t Halving::Keep(size_t rung, bool at_least_one) const {
  const int64_t keep = Survivors(rungs_.reported(rung), options_.divisor);
  return at_least_one ? std::max<int64_t>(keep, 1) : keep;
}

bool Halving::NoneArriving() const {
  return AllCreated() &&
         std::all_of(coming_.begin(), coming_.end(), [](int64_t n) { return n == 0; });
}

bool Halving::IsClosed(size_t rung) const {
  if (!AllCreated() || coming_[rung] > 0) return false;
  for (size_t below = 0; below < rung; ++below) {
    if (coming_[below] > 0 || !paused_[below].empty()) return false;
  }
  return true;
}

std::optional<int64_t> Halving::Promotable() const {
  const auto best = [this](bool at_least_one) -> std::optional<int64_t> {
    for (size_t rung = paused_.size(); rung-- > 0;) {
      if (paused_[rung].empty()) continue;
      if (options_.rule == Rule::kSynchronous && !IsClosed(rung)) continue;
      const Rungs::Entry& entry = *paused_[rung].begin();
      if (rungs_.Rank(rung, entry) < Keep(rung, at_least_one)) return entry.trial;
    }
    return std::nullopt;
  };
  if (options_.rule == Rule::kSynchronous) return best(true);
  if (const auto plain = best(false)) return plain;
  return NoneArriving() ? best(true) : std::nullopt;
}

void Halving::Settle(std::vector<Operation>& operations) {
  if (options_.rule == Rule::kStop) return;
  // At most max_trials arrive at the lowest rung, so most trials there can be stopped early.
  StopFrom(0, std::max<int64_t>(Survivors(options_.max_trials, options_.divisor), 1), operations);
  if (options_.rule == Rule::kSynchronous) {
    for (size_t rung = 0; rung < paused_.size() && IsClosed(rung); ++rung) {
      StopFrom(rung, Keep(rung, true), operations);
    }
  } else if (NoneArriving() && !Promotable()) {
    for (size_t rung = 0; rung < paused_.size(); ++rung) StopFrom(rung, 0, operations);
  }
}

void Halving::StopFrom(size_t rung, int64_t rank, std::vector<Operation>& operations) {
  std::set<Rungs::Entry>& paused = paused_[rung];
  while (!paused.empty() && rungs_.Rank(rung, *paused.rbegin()) >= rank) {
    const int64_t number = paused.rbegin()->trial;
    paused.erase(std::prev(paused.end()));
    live_.at(number).state = State::kStoppedInPause;
    operations.emplace_back(StopTrial{Request(number)});
  }
}

std::vector<Operation> Halving::OnExited(Context context, int64_t number, TrialEnd end) {
  const auto it = live_.find(number);
  if (it == live_.end()) return {};
  const Trial trial = it->second;
  live_.erase(it);
  if (trial.state == State::kRunning) --coming_[trial.rung];
  if (trial.state == State::kPaused) paused_[trial.rung].erase({trial.last_loss, number});
  if (trial.state == State::kRunning || trial.state == State::kStopped) --running_;
  CountEnd(context, number, trial, end);
  std::vector<Operation> operations;
  Settle(operations);
  return operations;
}

void Halving::CountEnd(Context context, int64_t number, const Trial& trial, TrialEnd end) {
  const bool on_its_way = trial.state == State::kRunning;
  switch (end) {
    case TrialEnd::kCompleted:
      ++ends_.completed;
      if (on_its_way) rungs_.Add(trial.rung, {trial.last_loss, number});
      break;
    case TrialEnd::kFailed:
      ++ends_.failed;
      if (on_its_way) rungs_.Add(trial.rung, {kInfinity, number});
      break;
    case TrialEnd::kInvalidHp:
      rungs_.Forget(number, trial.rung);
      // In a space with a single point, another sample would be equally invalid.
      if (replaced_ < options_.max_replacements && !IsSinglePoint(context.space)) {
        ++replaced_;
      } else {
        ++ends_.failed;
      }
      break;
    case TrialEnd::kCanceled:
      ++ends_.canceled;
      break;
  }
}

double Halving::Progress() const {
  // Most of the work is at the lowest rung; the higher rungs have few long trials.
  const double trials = static_cast<double>(options_.max_trials);
  const double begun = static_cast<double>(rungs_.reported(0)) / (1.2 * trials);
  return std::clamp(std::max(begun, static_cast<double>(ends_.all()) / trials), 0.0, 1.0);
}

std::vector<PlannedTrials> Halving::Preview() const {
  std::vector<PlannedTrials> plan;
  int64_t trials = options_.max_trials;
  for (size_t rung = 0; rung <= rungs_.top(); ++rung) {
    const bool is_top = rung == rungs_.top();
    const int64_t keep_going =
        is_top ? 0 : std::max<int64_t>(Survivors(trials, options_.divisor), 1);
    if (trials > keep_going)
      plan.push_back({.trials = trials - keep_going, .length = rungs_.length(rung)});
    trials = keep_going;
  }
  return plan;
}

Outcome Halving::GetOutcome(size_t rung, int64_t number) const {
  if (rung == rungs_.top()) return Outcome::kDone;
  if (rungs_.WasPromoted(rung, number)) return Outcome::kContinued;
  const auto it = live_.find(number);
  const bool waits = it != live_.end() && it->second.state == State::kPaused;
  return waits ? Outcome::kWaiting : Outcome::kStopped;
}

Bracket Halving::Describe() const {
  Bracket bracket = rungs_.Describe();
  for (size_t rung = 0; rung < bracket.size(); ++rung) {
    for (const Rungs::Entry& entry : rungs_.entries(rung)) {
      bracket[rung].arrivals.push_back(
          {Request(entry.trial), entry.loss, GetOutcome(rung, entry.trial)});
    }
  }
  return bracket;
}

// A live trial is stored as four numbers: its number, its rung, its state and its last loss.
Value Halving::Snapshot() const {
  Value::List live;
  live.reserve(4 * live_.size());
  for (const auto& [number, trial] : live_) {
    live.emplace_back(number);
    live.emplace_back(static_cast<int64_t>(trial.rung));
    live.emplace_back(static_cast<int64_t>(trial.state));
    live.emplace_back(trial.last_loss);
  }
  return Value::Object{{"created", created_},          {"replaced", replaced_},
                       {"completed", ends_.completed}, {"failed", ends_.failed},
                       {"canceled", ends_.canceled},   {"rungs", rungs_.Snapshot()},
                       {"live", std::move(live)}};
}

absl::Status Halving::Restore(const Value& snapshot) {
  Halving restored(options_);
  DET_ASSIGN_OR_RETURN(restored.created_, ReadCount(snapshot, "created"));
  DET_ASSIGN_OR_RETURN(restored.replaced_, ReadCount(snapshot, "replaced"));
  DET_ASSIGN_OR_RETURN(restored.ends_.completed, ReadCount(snapshot, "completed"));
  DET_ASSIGN_OR_RETURN(restored.ends_.failed, ReadCount(snapshot, "failed"));
  DET_ASSIGN_OR_RETURN(restored.ends_.canceled, ReadCount(snapshot, "canceled"));
  DET_ASSIGN_OR_RETURN(const Value::List* rungs, ReadList(snapshot, "rungs"));
  DET_RETURN_IF_ERROR(restored.rungs_.Restore(*rungs));
  DET_ASSIGN_OR_RETURN(const std::vector<double> live, ReadNumbers(snapshot, "live"));
  DET_RETURN_IF_ERROR(restored.RestoreLive(live));
  *this = std::move(restored);
  return absl::OkStatus();
}

absl::Status Halving::RestoreLive(const std::vector<double>& flat) {
  const auto last_state = static_cast<double>(State::kStoppedInPause);
  bool good = flat.size() % 4 == 0;
  for (size_t i = 0; good && i < flat.size(); i += 4) {
    const double number = flat[i], rung = flat[i + 1], state = flat[i + 2];
    good = number >= 1 && number <= static_cast<double>(created_) && rung >= 0 &&
           rung <= static_cast<double>(rungs_.top()) && state >= 0 && state <= last_state;
    if (!good) break;
    const Trial trial{static_cast<size_t>(rung), static_cast<State>(state), flat[i + 3]};
    live_.emplace(static_cast<int64_t>(number), trial);
    // Old snapshots do not record promotions of trials on their way.
    for (size_t below = 0; below < trial.rung; ++below) {
      rungs_.RecordPromoted(below, static_cast<int64_t>(number));
    }
    if (trial.state == State::kRunning) ++coming_[trial.rung];
    if (trial.state == State::kRunning || trial.state == State::kStopped) ++running_;
    if (trial.state == State::kPaused) {
      paused_[trial.rung].insert({trial.last_loss, static_cast<int64_t>(number)});
    }
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "searcher snapshot: live is not a list of trials of this bracket");
}

}  // namespace det::searcher
