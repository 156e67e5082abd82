// Several brackets side by side: which of them gets a slot that is free. The first one that holds
// fewer than its share and has a use for a slot; otherwise the first that has a use for it, so that
// slots do not idle while a bracket waits or has ended. Together they never hold more slots than
// the sum of the shares.
//
// One sampler serves all, so that a model learns from every bracket. The trials of bracket b are
// named "b-1", "b-2", ... and draw from rng.Split(b); those of a single bracket "1", "2", ...
//
// Made by asha.h, adaptive_asha.h and hyperband.h. PURE.
#ifndef MASTER_CORE_SEARCHER_TOURNAMENT_H_
#define MASTER_CORE_SEARCHER_TOURNAMENT_H_

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "master/core/searcher/halving.h"
#include "master/core/searcher/sampler.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

class Tournament final : public SearchMethod {
 public:
  struct Entrant {
    Halving::Options halving;  // whose prefix is set here
    int64_t share = 0;         // of the slots; 0: what the others leave
  };
  // REQUIRES one entrant or more, and a share that is not 0.
  Tournament(const std::vector<Entrant>& entrants, std::unique_ptr<Sampler> sampler);

  std::vector<Operation> Start(Context context) override;
  std::vector<Operation> OnReport(Context context, const Report& report) override;
  std::vector<Operation> OnTrialExited(Context context, const TrialExited& event) override;
  // The mean over the brackets, each with the weight of its trials.
  double Progress(const std::map<model::RequestId, double>& trial_progress) const override;
  std::vector<Bracket> Brackets() const override;
  std::vector<int64_t> ReportLengths(const model::RequestId& request) const override;
  Plan Preview(const model::SearchSpace& space) const override;
  model::Value Snapshot() const override;
  absl::Status Restore(const model::Value& snapshot) override;

 private:
  struct Seat {
    Halving halving;
    int64_t share = 0;
  };
  struct Place {
    size_t bracket = 0;
    int64_t trial = 0;
  };

  // Where the trial is; nullopt for a request id that is none of its own.
  std::optional<Place> Locate(const model::RequestId& request) const;
  // Hands out what slots are free, and ends the search when every bracket is done.
  void Continue(Context context, std::vector<Operation>& operations);
  std::optional<Operation> TakeSlot(Context context);
  std::optional<Operation> TakeSlot(Context context, size_t bracket);

  std::vector<Seat> seats_;
  int64_t max_slots_ = 0;
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_TOURNAMENT_H_
