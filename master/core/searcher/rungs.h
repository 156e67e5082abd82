// The rungs of one successive halving: the lengths at which trials are compared, and what each
// trial reported there. The best of a rung have the smallest losses; of equal ones the older trial
// comes first. Called by Halving. PURE.
#ifndef MASTER_CORE_SEARCHER_RUNGS_H_
#define MASTER_CORE_SEARCHER_RUNGS_H_

#include <compare>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

// More than this have the same length anyway, whatever the divisor.
inline constexpr int64_t kMostRungs = 64;

// The largest k with divisor^(k-1) <= n, at most `most`. Counted, not by logarithms, whose quotient
// is too small for exact powers such as (3, 243) and (10, 1000). REQUIRES divisor > 1, n >= 1.
int64_t RungsWithin(double divisor, int64_t n, int64_t most);

// floor(max_length / divisor^(rungs-1-i)) for i = 0 .. rungs-1, 1 at least. Exact for an integral
// divisor. REQUIRES divisor > 1, max_length >= 1, rungs >= 1.
std::vector<int64_t> RungLengths(int64_t rungs, int64_t max_length, double divisor);

// floor(n / divisor): so many of n go on.
int64_t Survivors(int64_t n, double divisor);

class Rungs {
 public:
  struct Entry {
    double loss = 0;
    int64_t trial = 0;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  // REQUIRES lengths to be ascending, and not empty. A rung is named by its place in them.
  explicit Rungs(std::vector<int64_t> lengths);

  size_t top() const { return rungs_.size() - 1; }
  int64_t length(size_t rung) const { return rungs_[rung].length; }
  int64_t reported(size_t rung) const { return static_cast<int64_t>(rungs_[rung].entries.size()); }
  int64_t continued(size_t rung) const { return static_cast<int64_t>(rungs_[rung].let_on.size()); }
  bool WasLetOn(size_t rung, int64_t trial) const { return rungs_[rung].let_on.contains(trial); }
  const std::vector<Entry>& entries(size_t rung) const { return rungs_[rung].entries; }
  // How many there have this very loss.
  int64_t equal(size_t rung, double loss) const;

  // Answers how many there have a smaller loss.
  int64_t Add(size_t rung, const Entry& entry);
  void NoteContinued(size_t rung, int64_t trial) { rungs_[rung].let_on.insert(trial); }
  // As if the trial, which has been let go on below `rung`, had never been.
  void Forget(int64_t trial, size_t rung);
  // How many are better than this one.
  int64_t Rank(size_t rung, const Entry& entry) const;

  std::vector<int64_t> lengths() const;  // each once
  Bracket Describe() const;              // without arrivals

  model::Value Snapshot() const;
  absl::Status Restore(const model::Value& snapshot);

 private:
  struct OneRung {
    int64_t length = 0;
    std::vector<Entry> entries = {};  // best first
    std::set<int64_t> let_on = {};    // trials
  };
  std::vector<OneRung> rungs_;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_RUNGS_H_
