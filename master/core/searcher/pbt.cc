#include "master/core/searcher/pbt.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "master/core/searcher/perturb.h"
#include "master/core/searcher/random_sampler.h"
#include "master/core/searcher/space.h"

namespace det::searcher {
namespace {

using model::RequestId;

constexpr double kWorst = std::numeric_limits<double>::infinity();

bool IsFinite(const Losses& losses) {
  return std::all_of(losses.begin(), losses.end(), [](double loss) { return std::isfinite(loss); });
}

}  // namespace

int64_t PopulationSearch::End(int64_t generation) const {
  // In two parts, because max_length * generations may overflow.
  const int64_t each = options_.max_length / options_.population.generations;
  const int64_t rest = options_.max_length % options_.population.generations;
  return each * (generation + 1) + rest * (generation + 1) / options_.population.generations;
}

bool PopulationSearch::HasArrived(const Member& member) const {
  return member.state == State::kCompleted || member.state == State::kFailed ||
         member.length >= static_cast<double>(End(generation_) - End(member.born - 1));
}

int64_t PopulationSearch::CountReplaced(size_t members) const {
  const double fraction = options_.population.replaced_fraction;
  if (members < 2 || fraction <= 0) return 0;
  const double count = std::floor(fraction * static_cast<double>(members));
  return static_cast<int64_t>(std::clamp(count, 1.0, std::floor(members / 2.0)));
}

PopulationSearch::Member* PopulationSearch::Find(const RequestId& request) {
  const auto it = std::find_if(members_.begin(), members_.end(),
                               [&request](const Member& m) { return m.request == request; });
  return it == members_.end() ? nullptr : &*it;
}

std::vector<Operation> PopulationSearch::Start(Context context) {
  const Member sample{.losses = Losses(options_.objectives, kWorst)};
  members_.assign(static_cast<size_t>(options_.population.size), sample);
  return Continue(context);
}

std::vector<Operation> PopulationSearch::OnReport(Context context, const Report& report) {
  Member* member = Find(report.request);
  if (member == nullptr) return {};
  // Written so that NaN is rejected.
  if (report.length > member->length) member->length = report.length;
  member->losses = report.losses;
  if (!HasArrived(*member)) return {};
  if (IsLast()) return {StopTrial{report.request}};
  member->state = State::kPaused;
  std::vector<Operation> operations;
  operations.emplace_back(PauseTrial{report.request});
  for (Operation& operation : Continue(context)) operations.push_back(std::move(operation));
  return operations;
}

std::vector<Operation> PopulationSearch::OnTrialExited(Context context, const TrialExited& event) {
  // A member that was replaced before is only counted.
  Member* member = Find(event.request);
  const auto becomes = [member](State state) {
    if (member != nullptr) member->state = state;
  };
  switch (event.end) {
    case TrialEnd::kCompleted:
      ++counts_.completed;
      becomes(State::kCompleted);
      break;
    case TrialEnd::kCanceled:
      ++counts_.canceled;
      if (member != nullptr) members_.erase(members_.begin() + (member - members_.data()));
      break;
    case TrialEnd::kInvalidHp:
      if (member != nullptr && generation_ == 0 && counts_.replaced < options_.max_replacements &&
          !IsSinglePoint(context.space)) {
        ++counts_.replaced;
        *member = Member{.losses = Losses(options_.objectives, kWorst)};
        break;
      }
      [[fallthrough]];
    case TrialEnd::kFailed:
      ++counts_.failed;
      becomes(State::kFailed);
      break;
  }
  return Continue(context);
}

std::vector<Operation> PopulationSearch::Continue(Context context) {
  std::vector<Operation> operations;
  const auto has_come = [this](const Member& member) { return HasArrived(member); };
  while (!IsLast() && !members_.empty() &&
         std::all_of(members_.begin(), members_.end(), has_come)) {
    NextGeneration(operations);
  }
  Fill(context, operations);
  if (counts_.created == counts_.replaced + counts_.completed + counts_.failed + counts_.canceled) {
    const bool fruitless = counts_.completed == 0;
    operations.emplace_back(Shutdown{.failed = fruitless && counts_.failed > 0,
                                     .canceled = fruitless && counts_.failed == 0});
  }
  return operations;
}

std::vector<PopulationSearch::Member> PopulationSearch::BestFirst() const {
  std::vector<Losses> losses;
  for (const Member& member : members_) {
    losses.push_back(member.state == State::kFailed ? Losses(options_.objectives, kWorst)
                                                    : member.losses);
  }
  const std::vector<int64_t> ranks = Ranks(losses);
  std::vector<size_t> order(members_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto key = [&](size_t i) {
      return std::tuple(members_[i].state == State::kFailed, !IsFinite(losses[i]), ranks[i],
                        losses[i].front(), i);
    };
    return key(a) < key(b);
  });
  std::vector<Member> ranked;
  for (const size_t i : order) ranked.push_back(members_[i]);
  return ranked;
}

void PopulationSearch::NextGeneration(std::vector<Operation>& operations) {
  const std::vector<Member> ranked = BestFirst();
  if (ranked.front().state == State::kFailed) return members_.clear();
  const size_t replaced = static_cast<size_t>(CountReplaced(ranked.size()));
  const bool finite = IsFinite(ranked.front().losses);
  std::vector<Member> parents{ranked.front()};
  while (parents.size() < replaced && ranked[parents.size()].state != State::kFailed &&
         IsFinite(ranked[parents.size()].losses)) {
    parents.push_back(ranked[parents.size()]);
  }
  std::vector<Member> children;
  std::vector<Member> others;
  for (size_t i = 0; i < ranked.size(); ++i) {
    const bool lives = ranked[i].state == State::kPaused;
    if (lives && i < ranked.size() - replaced && (!finite || IsFinite(ranked[i].losses))) {
      others.push_back(ranked[i]);
      continue;
    }
    if (lives) operations.emplace_back(StopTrial{ranked[i].request});
    const Member& parent = parents[children.size() % parents.size()];
    children.push_back({.parent = parent.request,
                        .hparams = parent.hparams,
                        .born = generation_ + 1,
                        .losses = Losses(options_.objectives, kWorst)});
  }
  past_.push_back(PresentRung());
  past_.back().continued = static_cast<int64_t>(others.size());
  for (Arrival& arrival : past_.back().arrivals) {
    const bool goes_on = std::any_of(others.begin(), others.end(), [&](const Member& member) {
      return member.request == arrival.request;
    });
    arrival.outcome = goes_on ? Outcome::kContinued : Outcome::kStopped;
  }
  ++generation_;
  members_ = std::move(children);
  members_.insert(members_.end(), others.begin(), others.end());
  if (!IsLast()) return;
  for (const Member& member : members_) {
    if (HasArrived(member)) operations.emplace_back(StopTrial{member.request});
  }
}

void PopulationSearch::Fill(Context context, std::vector<Operation>& operations) {
  int64_t room = options_.max_concurrent_trials > 0 ? options_.max_concurrent_trials
                                                    : options_.population.size;
  for (const Member& member : members_) room -= member.state == State::kRunning ? 1 : 0;
  for (Member& member : members_) {
    const bool waits = member.state == State::kPlanned || member.state == State::kPaused;
    if (room <= 0 || !waits || HasArrived(member)) continue;
    operations.push_back(Begin(context, member));
    --room;
  }
}

Operation PopulationSearch::Begin(Context context, Member& member) {
  if (std::exchange(member.state, State::kRunning) == State::kPaused) {
    return ResumeTrial{member.request};
  }
  RandomSampler sampler;
  CreateTrial trial = MakeTrial(context, sampler, ++counts_.created);
  if (member.parent) {
    base::Rng rng = context.rng.Split(static_cast<uint64_t>(counts_.created)).Split(1);
    trial.parent = member.parent;
    trial.hparams = Explore(context.space, member.hparams, options_.population.resample_probability,
                            options_.population.perturb_factor, rng);
  }
  member.request = trial.request;
  member.hparams = trial.hparams;
  return trial;
}

double PopulationSearch::Progress(const std::map<RequestId, double>&) const {
  const auto come = std::count_if(members_.begin(), members_.end(),
                                  [this](const Member& member) { return HasArrived(member); });
  const double share =
      members_.empty() ? 0 : static_cast<double>(come) / static_cast<double>(members_.size());
  return (static_cast<double>(generation_) + share) /
         static_cast<double>(options_.population.generations);
}

Rung PopulationSearch::PresentRung() const {
  Rung rung{.length = static_cast<double>(End(generation_))};
  for (const Member& member : members_) {
    if (!HasArrived(member) || member.state == State::kFailed) continue;
    ++rung.reported;
    const double loss = member.losses.front();
    if (std::isfinite(loss)) rung.best_loss = std::min(loss, rung.best_loss.value_or(loss));
    rung.arrivals.push_back({member.request, loss, IsLast() ? Outcome::kDone : Outcome::kWaiting});
  }
  std::stable_sort(rung.arrivals.begin(), rung.arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.loss < b.loss; });
  return rung;
}

std::vector<Bracket> PopulationSearch::Brackets() const {
  Bracket bracket = past_;
  bracket.push_back(PresentRung());
  for (int64_t g = generation_ + 1; g < options_.population.generations; ++g) {
    bracket.push_back({.length = static_cast<double>(End(g))});
  }
  return {bracket};
}

std::vector<int64_t> PopulationSearch::ReportLengths(const RequestId& request) const {
  std::vector<int64_t> lengths;
  for (const Member& member : members_) {
    if (member.request != request) continue;
    for (int64_t g = member.born; g < options_.population.generations; ++g) {
      lengths.push_back(End(g) - End(member.born - 1));
    }
  }
  return lengths;
}

Plan PopulationSearch::Preview(const model::SearchSpace&) const {
  return {{{.trials = options_.population.size, .length = options_.max_length}}};
}

}  // namespace det::searcher
