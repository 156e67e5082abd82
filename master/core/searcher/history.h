// The results of the trials of a search, for models: points as coordinates, losses by length. Keeps
// the best and the latest trials, so that the cost of a decision and the size of a snapshot are
// bounded.
//
// Lengths are grouped in levels, two per octave, so that trials that report at slightly different
// lengths can be compared; the last report of a level counts. PURE.
#ifndef MASTER_CORE_SEARCHER_HISTORY_H_
#define MASTER_CORE_SEARCHER_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "master/core/searcher/encoding.h"
#include "master/core/searcher/operation.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

class History {
 public:
  struct Trial {
    model::RequestId request;
    Coordinates x;
    bool failed = false;
    // Losses by ascending level; empty if it has not reported.
    std::vector<std::pair<int, std::vector<double>>> curve;

    bool judged() const { return failed || !curve.empty(); }
  };

  // A trial in the ranking, with the losses that it is ranked by.
  struct Ranked {
    const Trial* trial = nullptr;
    int level = 0;
    const std::vector<double>* losses = nullptr;  // nullptr: failed
  };
  struct Ranking {
    int level = 0;                      // the level at which trials are compared
    size_t comparable = 0;              // how many of the best have reached it
    std::vector<Ranked> judged;         // best first, as far as requested
    std::vector<const Trial*> pending;  // running without a report; latest first
    // Whether a trial has exactly this point. In a small space, models return to the best point.
    bool Has(const Coordinates& x) const;
  };

  explicit History(size_t objectives) : objectives_(objectives) {}

  void Add(const model::RequestId& request, Coordinates x);
  // Ignores trials that are unknown or forgotten.
  void OnReport(const Report& report);
  void OnExited(const model::RequestId& request, TrialEnd end);

  // The number of trials that have reported or failed, forgotten ones included.
  int64_t judged() const { return judged_; }

  // Ranks all trials with `axes` coordinates at the longest level that at least `enough` of them
  // have reached (Falkner et al., "BOHB", ICML 2018): first the trials that reached it, by their
  // loss there, then shorter ones, by their level and their loss there; failed ones last. Several
  // objectives are ranked by Pareto order (pareto.h). Only the best `most` are sorted.
  Ranking Rank(size_t axes, size_t enough, size_t most = std::numeric_limits<size_t>::max()) const;

  model::Value Snapshot() const;
  absl::Status Restore(const model::Value& snapshot);

 private:
  Trial* Find(const model::RequestId& request);
  void Forget();

  size_t objectives_;
  int64_t judged_ = 0;
  int64_t next_ = 0;
  std::map<int64_t, Trial> trials_;  // by age
  std::map<model::RequestId, int64_t> ages_;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_HISTORY_H_
