// What the trials of a search have reached, as models see them: points as coordinates, losses by
// length. Remembers the best and the latest, so that a decision and a snapshot stay small however
// many trials there are.
//
// Lengths are put in levels, two to an octave, so that trials that report at slightly different
// lengths can be compared; of the reports of one level the last one counts. PURE.
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
    // Losses by level, rising; empty: has not reported.
    std::vector<std::pair<int, std::vector<double>>> curve;

    bool judged() const { return failed || !curve.empty(); }
  };

  // Trials in an order, and the losses they were put in order by.
  struct Ranked {
    const Trial* trial = nullptr;
    int level = 0;
    const std::vector<double>* losses = nullptr;  // nullptr: failed
  };
  struct Ranking {
    int level = 0;                      // at which trials are compared
    size_t comparable = 0;              // so many of the best have reached it
    std::vector<Ranked> judged;         // best first, as far as was asked
    std::vector<const Trial*> pending;  // run, and nothing is known of them; latest first

    // Whether a trial has this very point. Where there are only few, models come back to the best.
    bool Has(const Coordinates& x) const;
  };

  explicit History(size_t objectives) : objectives_(objectives) {}

  void Add(const model::RequestId& request, Coordinates x);
  // Of a trial that it does not know, or has forgotten: nothing.
  void OnReport(const Report& report);
  void OnExited(const model::RequestId& request, TrialEnd end);

  // Trials that have reported or failed, forgotten ones included.
  int64_t judged() const { return judged_; }

  // All that have `axes` coordinates. Compared at the longest level that at least `enough` of them
  // have reached (Falkner et al., "BOHB", ICML 2018): first those that reached it, by their loss
  // there, then those that were seen less of, by how far they came and their loss there; failed
  // ones last. Several objectives: by Pareto order (pareto.h). Who looks at the best `most` alone
  // gets the others in any order.
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
