// Population-based training: Jaderberg et al., "Population based training of neural networks"
// (2017). A population trains in generations. After each, the worst are replaced by copies of the
// best (exploit: by checkpoint) with hyperparameters near theirs (explore: perturb.h).
//
// Generation g (0, 1, ...) trains every member up to End(g) = max_length * (g + 1) / generations. A
// member that has come there is paused, and loses its slots; in the last generation it is stopped.
// When all of a generation have come or ended, they are ranked: by loss (several: by Pareto rank,
// then by the first), those whose loss is infinite after these, the failed last. Then
//   - the worst replaced_fraction of them (one at least of two or more, half at most) are stopped,
//     and a child takes the place of each;
//   - who has ended, or has an infinite loss while another has not, cannot go on: a child takes its
//     place as well;
//   - the rest go on.
// The parents are the same number of best ones that have finite losses, taken in turns, best first.
// (The paper draws parents; turns give each the same number of children.) A child starts from its
// parent's checkpoint and counts its own length from 0: born in generation g it comes to the end of
// generation h when it has trained End(h) - End(g - 1). Children start before any parent goes on,
// so that the parent's newest checkpoint is the one of its pause.
//
// How trials end:
//   completed  by itself, below the end of its generation: it is ranked by what it last reported,
//              and may be a parent.
//   failed     ranked last, so a child takes its place. Not in the last generation.
//   invalid    in the first generation a new sample takes its place at once, up to
//              max_replacements; beyond that, and later, as failed.
//   canceled   its place is gone.
// When nobody has survived a generation the search ends. At most
// size * generations + max_replacements trials are ever created.
//
// A first report beyond the end of several generations counts for all of them.
// PURE.
#ifndef MASTER_CORE_SEARCHER_PBT_H_
#define MASTER_CORE_SEARCHER_PBT_H_

#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/searcher/pareto.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

class PopulationSearch final : public SearchMethod {
 public:
  struct Options {
    model::PopulationConfig population;  // of at least 1 and at most max_length generations
    int64_t max_length = 1;
    int64_t max_concurrent_trials = 16;  // 0: no limit
    int64_t max_replacements = 0;
    size_t objectives = 1;
  };
  explicit PopulationSearch(const Options& options) : options_(options) {}

  std::vector<Operation> Start(Context context) override;
  std::vector<Operation> OnReport(Context context, const Report& report) override;
  std::vector<Operation> OnTrialExited(Context context, const TrialExited& event) override;
  // By generations and by who has come to the end of the present one.
  double Progress(const std::map<model::RequestId, double>& trial_progress) const override;
  // One bracket, whose rungs are the generations.
  std::vector<Bracket> Brackets() const override;
  // The trial's own lengths at the ends of the generations.
  std::vector<int64_t> ReportLengths(const model::RequestId& request) const override;
  // `size` trials to max_length: a member that is replaced goes on in its child, so that this is
  // the work that is done, though not the number of trials.
  Plan Preview(const model::SearchSpace& space) const override;
  model::Value Snapshot() const override;
  absl::Status Restore(const model::Value& snapshot) override;

 private:
  // kPlanned waits to be created; kPaused has come to its generation's end, or waits to go on.
  enum class State { kPlanned, kRunning, kPaused, kCompleted, kFailed };
  struct Member {
    State state = State::kPlanned;
    model::RequestId request;                // none while planned
    std::optional<model::RequestId> parent;  // none: a new sample
    model::Hparams hparams;                  // of the parent, while planned
    int64_t born = 0;                        // in this generation
    double length = 0;
    Losses losses;  // as last reported; infinite before
  };
  struct Counts {
    int64_t created = 0;
    int64_t replaced = 0;  // invalid ones, by new samples
    int64_t completed = 0;
    int64_t failed = 0;
    int64_t canceled = 0;
  };

  int64_t End(int64_t generation) const;
  bool IsLast() const { return generation_ + 1 == options_.population.generations; }
  // At the end of the present generation: by its length, or for good.
  bool HasCome(const Member& member) const;
  int64_t HowMany(size_t members) const;  // are replaced

  Member* Find(const model::RequestId& request);
  // Whatever the last event made possible.
  std::vector<Operation> Continue(Context context);
  void NextGeneration(std::vector<Operation>& operations);
  // Starts who waits, as far as there is room.
  void Fill(Context context, std::vector<Operation>& operations);
  Operation Begin(Context context, Member& member);
  std::vector<Member> BestFirst() const;
  Rung PresentRung() const;
  absl::StatusOr<Member> ReadMember(const model::Value& saved) const;

  Options options_;
  Counts counts_;
  int64_t generation_ = 0;
  std::vector<Member> members_;  // of this generation, in the order in which they are started
  Bracket past_;                 // one rung for each generation before this one
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_PBT_H_
