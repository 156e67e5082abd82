#include "master/core/searcher/history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "master/core/searcher/crowding.h"

namespace det::searcher {
namespace {

using model::RequestId;
using model::Value;
using Trial = History::Trial;
using Ranked = History::Ranked;
using Losses = std::vector<double>;

// The number of judged trials that are remembered, and how many of these because they are the best.
constexpr size_t kRemembered = 384;
constexpr size_t kBest = 128;
// Forgetting scans all trials, so it removes several at a time.
constexpr size_t kSlack = 64;
// The number of trials that must have reached a level to compare the best at it.
constexpr size_t kEnoughToForget = 32;

constexpr int kNoLength = -4096;

// Returns the level of a length; there are two levels per octave.
int ToLevel(double length) {
  if (!(length > 0) || !std::isfinite(length)) return kNoLength;
  int exponent = 0;
  const double mantissa = std::frexp(length, &exponent);
  return 2 * exponent + (mantissa >= 0.70710678118654752 ? 1 : 0);
}

// Returns the result of the trial at this level: the first report at or above it, or else its last.
Ranked At(const Trial& trial, int level) {
  if (trial.curve.empty()) return {.trial = &trial, .level = kNoLength - 1, .losses = nullptr};
  for (const auto& [at, losses] : trial.curve) {
    if (at >= level) return {.trial = &trial, .level = level, .losses = &losses};
  }
  return {.trial = &trial, .level = trial.curve.back().first, .losses = &trial.curve.back().second};
}

// Returns the longest level that at least `enough` trials have reached; the shortest if there is
// none.
int FindCommonLevel(const std::vector<const Trial*>& trials, size_t enough) {
  std::vector<int> reached;
  for (const Trial* trial : trials) {
    if (!trial->curve.empty()) reached.push_back(trial->curve.back().first);
  }
  if (reached.empty()) return kNoLength;
  const auto place =
      reached.begin() +
      static_cast<std::ptrdiff_t>(std::min(std::max<size_t>(enough, 1), reached.size()) - 1);
  std::nth_element(reached.begin(), place, reached.end(), std::greater<>());
  return *place;
}

void SortByPareto(std::vector<Ranked>::iterator begin, std::vector<Ranked>::iterator end) {
  std::vector<const Losses*> points;
  for (auto it = begin; it != end; ++it) points.push_back(it->losses);
  std::vector<Ranked> sorted;
  for (const size_t i : ParetoOrder(points))
    sorted.push_back(*(begin + static_cast<std::ptrdiff_t>(i)));
  std::copy(sorted.begin(), sorted.end(), begin);
}

// The sort keys are stored together, because a decision sorts hundreds of trials.
struct Key {
  int level = 0;
  double loss = 0;
  size_t index = 0;

  friend bool operator<(const Key& a, const Key& b) {
    if (a.level != b.level) return a.level > b.level;
    return a.loss != b.loss ? a.loss < b.loss : a.index < b.index;
  }
};

// Sorts the best `most` to the front, stably. Pareto fronts need all in order.
void Sort(std::vector<Ranked>& ranked, size_t objectives, size_t most) {
  std::vector<Key> keys;
  keys.reserve(ranked.size());
  for (const Ranked& r : ranked) {
    const double first =
        r.losses == nullptr ? std::numeric_limits<double>::infinity() : r.losses->front();
    keys.push_back({.level = r.level, .loss = first, .index = keys.size()});
  }
  auto end = keys.end();
  if (objectives < 2 && most < keys.size()) {
    end = keys.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(keys.begin(), end, keys.end());
  }
  std::sort(keys.begin(), end);
  std::vector<Ranked> sorted;
  sorted.reserve(ranked.size());
  for (const Key& key : keys) sorted.push_back(ranked[key.index]);
  ranked = std::move(sorted);
  if (objectives < 2) return;
  for (auto begin = ranked.begin(); begin != ranked.end() && begin->losses != nullptr;) {
    const auto end = std::find_if(begin, ranked.end(),
                                  [begin](const Ranked& r) { return r.level != begin->level; });
    SortByPareto(begin, end);
    begin = end;
  }
}

History::Ranking RankAll(const std::vector<const Trial*>& judged, size_t enough, size_t objectives,
                         size_t most) {
  History::Ranking ranking;
  ranking.level = FindCommonLevel(judged, enough);
  ranking.judged.reserve(judged.size());
  for (const Trial* trial : judged) ranking.judged.push_back(At(*trial, ranking.level));
  Sort(ranking.judged, objectives, most);
  for (const Ranked& ranked : ranking.judged) {
    ranking.comparable += ranked.losses != nullptr && ranked.level == ranking.level ? 1 : 0;
  }
  return ranking;
}

// ---- snapshots: NaN and infinities are null ----

Value ToSnapshot(double v) { return std::isfinite(v) ? Value(v) : Value(); }

absl::Status InvalidSamplerSnapshot(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("searcher snapshot: the sampler's ", what));
}

bool ReadNumbers(const Value* list, double null, std::vector<double>& numbers) {
  if (list == nullptr || list->AsList() == nullptr) return false;
  for (const Value& v : *list->AsList()) {
    if (!v.is_null() && !v.AsNumber()) return false;
    numbers.push_back(v.AsNumber().value_or(null));
  }
  return true;
}

Value ToSnapshot(int64_t age, const Trial& trial) {
  Value::List x;
  // In units of 1e-9; coordinates are multiples of it.
  for (const double v : trial.x) {
    x.push_back(std::isnan(v) ? Value() : Value(static_cast<int64_t>(std::llround(v * 1e9))));
  }
  Value::List curve;
  for (const auto& [level, losses] : trial.curve) {
    Value::List row{level};
    for (const double loss : losses) row.push_back(ToSnapshot(loss));
    curve.emplace_back(std::move(row));
  }
  Value::List saved;
  saved.emplace_back(age);
  saved.emplace_back(trial.request.value());
  saved.emplace_back(trial.failed);
  saved.emplace_back(std::move(x));
  saved.emplace_back(std::move(curve));
  return saved;
}

bool FromSnapshot(const Value& saved, int64_t& age, Trial& trial) {
  const Value::List* row = saved.AsList();
  if (row == nullptr || row->size() != 5) return false;
  const auto& members = *row;
  if (!members[0].AsInt() || !members[1].AsString() || !members[2].AsBool() ||
      !ReadNumbers(&members[3], std::nan(""), trial.x) || !members[4].AsList()) {
    return false;
  }
  age = *members[0].AsInt();
  trial.request = RequestId(*members[1].AsString());
  trial.failed = *members[2].AsBool();
  for (double& v : trial.x) v /= 1e9;
  for (const Value& report : *members[4].AsList()) {
    Losses numbers;
    if (!ReadNumbers(&report, std::numeric_limits<double>::infinity(), numbers)) return false;
    if (numbers.size() < 2 || !std::isfinite(numbers[0])) return false;
    trial.curve.emplace_back(static_cast<int>(numbers[0]),
                             Losses(numbers.begin() + 1, numbers.end()));
  }
  return true;
}

}  // namespace

Trial* History::Find(const RequestId& request) {
  const auto it = ages_.find(request);
  return it == ages_.end() ? nullptr : &trials_.at(it->second);
}

void History::Add(const RequestId& request, Coordinates x) {
  ages_[request] = next_;
  trials_[next_++] = Trial{.request = request, .x = std::move(x)};
}

void History::OnReport(const Report& report) {
  Trial* trial = Find(report.request);
  if (trial == nullptr || report.losses.size() != objectives_) return;
  judged_ += trial->judged() ? 0 : 1;
  const int level = ToLevel(report.length);
  auto& curve = trial->curve;
  const auto at = std::lower_bound(curve.begin(), curve.end(), level,
                                   [](const auto& point, int l) { return point.first < l; });
  if (at != curve.end() && at->first == level) {
    at->second = report.losses;
  } else {
    curve.insert(at, {level, report.losses});
  }
  Forget();
}

void History::OnExited(const RequestId& request, TrialEnd end) {
  Trial* trial = Find(request);
  if (trial == nullptr) return;
  const bool failed = end == TrialEnd::kFailed || end == TrialEnd::kInvalidHp;
  if (failed) {
    judged_ += trial->judged() ? 0 : 1;
    trial->failed = true;
    trial->curve.clear();
    Forget();
  } else if (end == TrialEnd::kCanceled || trial->curve.empty()) {
    judged_ -= trial->judged() ? 1 : 0;
    trials_.erase(ages_.at(request));
    ages_.erase(request);
  }
}

void History::Forget() {
  std::vector<const Trial*> judged;
  if (judged_ <= static_cast<int64_t>(kRemembered)) return;
  for (const auto& [age, trial] : trials_) {
    if (trial.judged()) judged.push_back(&trial);
  }
  if (judged.size() < kRemembered + kSlack) return;
  const Ranking ranking = RankAll(judged, kEnoughToForget, objectives_, kBest);
  std::set<const Trial*> keep;
  for (size_t i = 0; i < kBest; ++i) keep.insert(ranking.judged[i].trial);
  for (auto it = judged.rbegin(); keep.size() < kRemembered; ++it) keep.insert(*it);
  for (const Trial* trial : judged) {
    if (keep.contains(trial)) continue;
    const auto it = ages_.find(trial->request);
    trials_.erase(it->second);
    ages_.erase(it);
  }
}

bool History::Ranking::Has(const Coordinates& x) const {
  const auto same = [&x](const Trial* trial) {
    return std::equal(x.begin(), x.end(), trial->x.begin(), trial->x.end(), [](double a, double b) {
      return a == b || (std::isnan(a) && std::isnan(b));
    });
  };
  return std::any_of(judged.begin(), judged.end(),
                     [&same](const Ranked& ranked) { return same(ranked.trial); }) ||
         std::any_of(pending.begin(), pending.end(), same);
}

History::Ranking History::Rank(size_t axes, size_t enough, size_t most) const {
  std::vector<const Trial*> judged, pending;
  judged.reserve(trials_.size());
  for (const auto& [age, trial] : trials_) {
    if (trial.x.size() == axes) (trial.judged() ? judged : pending).push_back(&trial);
  }
  Ranking ranking = RankAll(judged, enough, objectives_, most);
  ranking.pending.assign(pending.rbegin(), pending.rend());
  return ranking;
}

Value History::Snapshot() const {
  Value::List trials;
  for (const auto& [age, trial] : trials_) trials.push_back(ToSnapshot(age, trial));
  return Value::Object{{"judged", judged_}, {"next", next_}, {"trials", std::move(trials)}};
}

absl::Status History::Restore(const Value& snapshot) {
  const Value* judged = snapshot.Find("judged");
  const Value* next = snapshot.Find("next");
  const Value* trials = snapshot.Find("trials");
  if (judged == nullptr || !judged->AsInt() || next == nullptr || !next->AsInt() ||
      trials == nullptr || !trials->AsList()) {
    return InvalidSamplerSnapshot("judged, next or trials is missing");
  }
  History restored(objectives_);
  restored.judged_ = *judged->AsInt();
  restored.next_ = *next->AsInt();
  for (const Value& saved : *trials->AsList()) {
    int64_t age = 0;
    Trial trial;
    if (!FromSnapshot(saved, age, trial)) {
      return InvalidSamplerSnapshot(
          absl::StrCat("trial is not [age, request, failed, point, curve]: ", saved.ToJson()));
    }
    for (const auto& [level, losses] : trial.curve) {
      if (losses.size() != objectives_)
        return InvalidSamplerSnapshot("trials have other objectives");
    }
    restored.ages_[trial.request] = age;
    restored.trials_[age] = std::move(trial);
  }
  *this = std::move(restored);
  return absl::OkStatus();
}

}  // namespace det::searcher
