#include "master/cluster/state.h"

namespace det::cluster {

void Step::TouchSearcher(Entry& entry) {
  // One step is one row, however many events the searcher heard in it.
  if (searchers_.insert(entry.experiment.id).second) ++entry.searcher_sequence;
}

void Step::Log(const experiment::Trial& trial, const model::AllocationId& allocation,
               model::LogLevel level, std::string text) {
  model::LogLine line;
  line.task = trial.task;
  line.allocation = allocation;
  line.time = now;
  line.level = level;
  line.source = "master";
  line.text = std::move(text);
  Change(AddLogLine{std::move(line)});
}

// Parents first: rows may refer to each other.
Outcome Step::Finish() {
  std::vector<cluster::Change> rows;
  std::set<model::ExperimentId> changed = experiments_;
  for (const model::TrialId& id : trials_) changed.insert(s.trials.at(id).experiment);
  for (const model::ExperimentId& id : experiments_) {
    rows.push_back(PutExperiment{s.experiments.at(id).experiment});
  }
  for (const model::TrialId& id : trials_) rows.push_back(PutTrial{s.trials.at(id)});
  for (const model::AllocationId& id : allocations_) {
    const experiment::Allocation& allocation = s.allocations.at(id);
    rows.push_back(PutAllocation{allocation});
    changed.insert(s.trials.at(allocation.trial).experiment);
  }
  for (const model::ExperimentId& id : searchers_) {
    const Entry& entry = s.experiments.at(id);
    rows.push_back(PutSearcher{id, entry.searcher_sequence, entry.searcher.Snapshot()});
  }
  rows.insert(rows.end(), std::make_move_iterator(out.changes.begin()),
              std::make_move_iterator(out.changes.end()));
  out.changes = std::move(rows);
  for (const model::ExperimentId& id : changed) Effect(ExperimentChanged{id});
  if (reschedule_) Effect(ScheduleSoon{});
  Forget();
  return std::move(out);
}

void Step::Forget() {
  for (const model::AllocationId& id : allocations_) {
    if (s.allocations.at(id).state == model::AllocationState::kTerminated) s.allocations.erase(id);
    if (!s.allocations.contains(id)) s.waiting.erase(id);
  }
  for (const model::ExperimentId& id : experiments_) {
    const auto entry = s.experiments.find(id);
    if (!model::IsTerminal(entry->second.experiment.state)) continue;
    for (const auto& [request, trial] : entry->second.trials) s.trials.erase(trial);
    s.experiments.erase(entry);
  }
}

}  // namespace det::cluster
