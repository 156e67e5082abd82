// Population-based training: Jaderberg et al., "Population based training of neural networks"
// (2017). A population trains in generations. After each, copies of the best members replace the
// worst (exploit: from the checkpoint) with hyperparameters near theirs (explore: perturb.h).
//
// Generation g (0, 1, ...) trains every member up to End(g) = max_length * (g + 1) / generations. A
// member that arrives there is paused and releases its slots; in the last generation it is stopped.
// When all members of a generation have arrived or ended, they are ranked: by loss (several: by
// Pareto rank, then by the first), then those with an infinite loss, the failed last. Then
//   - the worst replaced_fraction of them (at least one of two or more, at most half) are stopped,
//     and a child replaces each;
//   - a child also replaces each member that has ended, or that has an infinite loss while another
//     has a finite one;
//   - the rest continue.
// The parents are the same number of best members with finite losses, in turn, best first. (The
// paper draws parents; turns give each the same number of children.) A child starts from its
// parent's checkpoint and counts its own length from 0: born in generation g, it arrives at the end
// of generation h when it has trained End(h) - End(g - 1). Children start before any parent
// resumes, so that the parent's newest checkpoint is that of its pause.
//
// Trials that end by themselves:
//   completed  before the end of its generation: ranked by its last report, and may be a parent.
//   failed     ranked last, so a child replaces it, except in the last generation.
//   invalid    in the first generation a new sample replaces it at once, up to max_replacements;
//              beyond that, and later, as failed.
//   canceled   is not replaced.
// If no member survives a generation, the search ends. At most size * generations +
// max_replacements trials are created.
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
  // Combines completed generations and the members that have arrived at the end of the current one.
  double Progress(const std::map<model::RequestId, double>& trial_progress) const override;
  // One bracket; its rungs are the generations.
  std::vector<Bracket> Brackets() const override;
  // The trial's own lengths at the ends of the generations.
  std::vector<int64_t> ReportLengths(const model::RequestId& request) const override;
  // `size` trials to max_length: a child continues a replaced member, so this is the amount of
  // work, though not the number of trials.
  Plan Preview(const model::SearchSpace& space) const override;
  model::Value Snapshot() const override;
  absl::Status Restore(const model::Value& snapshot) override;

 private:
  // kPlanned waits to be created; kPaused is at the end of its generation, or waits to resume.
  enum class State { kPlanned, kRunning, kPaused, kCompleted, kFailed };
  struct Member {
    State state = State::kPlanned;
    model::RequestId request;                // none while planned
    std::optional<model::RequestId> parent;  // none: a new sample
    model::Hparams hparams;                  // of the parent, while planned
    int64_t born = 0;                        // its first generation
    double length = 0;
    Losses losses;  // as last reported; infinite before a report
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
  // Whether the member is at the end of the current generation or has ended.
  bool HasArrived(const Member& member) const;
  int64_t CountReplaced(size_t members) const;

  Member* Find(const model::RequestId& request);
  // Returns the operations that the last event made possible.
  std::vector<Operation> Continue(Context context);
  void NextGeneration(std::vector<Operation>& operations);
  // Starts waiting members up to the concurrency limit.
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
