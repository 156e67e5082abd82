#include "master/core/searcher/rungs.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "master/core/searcher/snapshot.h"

namespace det::searcher {
namespace {

using model::Value;

// As an integer, where that is exact.
std::optional<int64_t> AsInteger(double divisor) {
  if (divisor != std::floor(divisor) || divisor > 1e15) return std::nullopt;
  return static_cast<int64_t>(divisor);
}

bool Smaller(const Rungs::Entry& entry, double loss) { return entry.loss < loss; }

}  // namespace

int64_t RungsWithin(double divisor, int64_t n, int64_t most) {
  int64_t rungs = 1;
  if (const auto integer = AsInteger(divisor)) {
    for (; rungs < most && n >= *integer; n /= *integer) ++rungs;
    return rungs;
  }
  for (double power = divisor; rungs < most && power <= static_cast<double>(n); power *= divisor) {
    ++rungs;
  }
  return rungs;
}

std::vector<int64_t> RungLengths(int64_t rungs, int64_t max_length, double divisor) {
  std::vector<int64_t> lengths(static_cast<size_t>(rungs));
  const auto integer = AsInteger(divisor);
  int64_t quotient = max_length;
  double power = 1;
  for (size_t i = lengths.size(); i-- > 0;) {
    if (!integer) quotient = static_cast<int64_t>(static_cast<double>(max_length) / power);
    lengths[i] = std::max<int64_t>(quotient, 1);
    if (integer) quotient /= *integer;  // the floor of a floor is the floor of the whole
    power *= divisor;
  }
  return lengths;
}

int64_t Survivors(int64_t n, double divisor) {
  return static_cast<int64_t>(static_cast<double>(n) / divisor);
}

Rungs::Rungs(std::vector<int64_t> lengths) {
  DET_CHECK(!lengths.empty() && std::is_sorted(lengths.begin(), lengths.end()));
  for (const int64_t length : lengths) rungs_.push_back(OneRung{.length = length});
}

int64_t Rungs::Add(size_t rung, const Entry& entry) {
  std::vector<Entry>& entries = rungs_[rung].entries;
  entries.insert(std::lower_bound(entries.begin(), entries.end(), entry), entry);
  return std::lower_bound(entries.begin(), entries.end(), entry.loss, Smaller) - entries.begin();
}

int64_t Rungs::equal(size_t rung, double loss) const {
  const std::vector<Entry>& entries = rungs_[rung].entries;
  const auto first = std::lower_bound(entries.begin(), entries.end(), loss, Smaller);
  const auto larger = [](double l, const Entry& e) { return l < e.loss; };
  return std::upper_bound(first, entries.end(), loss, larger) - first;
}

void Rungs::Forget(int64_t trial, size_t rung) {
  for (size_t r = 0; r <= rung; ++r) {
    std::erase_if(rungs_[r].entries, [trial](const Entry& e) { return e.trial == trial; });
    rungs_[r].let_on.erase(trial);
  }
}

int64_t Rungs::Rank(size_t rung, const Entry& entry) const {
  const std::vector<Entry>& entries = rungs_[rung].entries;
  return std::lower_bound(entries.begin(), entries.end(), entry) - entries.begin();
}

std::vector<int64_t> Rungs::lengths() const {
  std::vector<int64_t> lengths;
  for (const OneRung& rung : rungs_) {
    if (lengths.empty() || rung.length > lengths.back()) lengths.push_back(rung.length);
  }
  return lengths;
}

Bracket Rungs::Describe() const {
  Bracket bracket;
  for (const OneRung& rung : rungs_) {
    Rung& shown = bracket.emplace_back();
    shown.length = static_cast<double>(rung.length);
    shown.reported = static_cast<int64_t>(rung.entries.size());
    shown.continued = static_cast<int64_t>(rung.let_on.size());
    if (!rung.entries.empty() && std::isfinite(rung.entries.front().loss)) {
      shown.best_loss = rung.entries.front().loss;
    }
  }
  return bracket;
}

// A rung is {let_on: [trial, ...], entries: [loss, trial, loss, trial, ...]}.
Value Rungs::Snapshot() const {
  Value::List rungs;
  for (const OneRung& rung : rungs_) {
    Value::List entries;
    entries.reserve(2 * rung.entries.size());
    for (const Entry& entry : rung.entries) {
      entries.emplace_back(entry.loss);
      entries.emplace_back(entry.trial);
    }
    rungs.emplace_back(
        Value::Object{{"let_on", Value::List(rung.let_on.begin(), rung.let_on.end())},
                      {"entries", std::move(entries)}});
  }
  return rungs;
}

absl::Status Rungs::Restore(const Value& snapshot) {
  const Value::List* rungs = snapshot.AsList();
  if (rungs == nullptr || rungs->size() != rungs_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("searcher snapshot: not a list of ", rungs_.size(), " rungs"));
  }
  std::vector<OneRung> restored;
  for (size_t r = 0; r < rungs_.size(); ++r) {
    OneRung& rung = restored.emplace_back(OneRung{.length = rungs_[r].length});
    DET_ASSIGN_OR_RETURN(const std::vector<double> flat, ReadNumbers((*rungs)[r], "entries"));
    for (size_t i = 0; i + 1 < flat.size(); i += 2) {
      rung.entries.push_back({flat[i], static_cast<int64_t>(flat[i + 1])});
    }
    if (flat.size() % 2 != 0 || !std::is_sorted(rung.entries.begin(), rung.entries.end())) {
      return absl::InvalidArgumentError(
          absl::StrCat("searcher snapshot: rung ", r, " is no list of losses and trials"));
    }
    // Older snapshots only count who was let on: of these, the ones that came to the next rung.
    if ((*rungs)[r].Find("let_on") == nullptr) {
      DET_RETURN_IF_ERROR(ReadCount((*rungs)[r], "continued").status());
      if (r == 0) continue;
      for (const Entry& entry : rung.entries) restored[r - 1].let_on.insert(entry.trial);
      continue;
    }
    DET_ASSIGN_OR_RETURN(const std::vector<double> let_on, ReadNumbers((*rungs)[r], "let_on"));
    for (const double trial : let_on) rung.let_on.insert(static_cast<int64_t>(trial));
  }
  rungs_ = std::move(restored);
  return absl::OkStatus();
}

}  // namespace det::searcher
