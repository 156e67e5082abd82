#include "master/core/cluster/step.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "master/core/cluster/scheduler_input.h"
#include "master/core/experiment/webhook_payload.h"
#include "master/core/searcher/journal.h"

namespace det::cluster {
namespace {

// The cost of a snapshot grows with the number of trials. One snapshot per this many events keeps
// the cost per event small and bounds the replay at a restart.
constexpr int64_t kMinJournalLength = 64;
constexpr int64_t kTrialsPerEvent = 8;

}  // namespace

void Step::Journal(const Entry& entry, const searcher::Event& event) {
  handled_[entry.experiment.id].push_back(event);
}

cluster::Change Step::SearcherRow(Entry& entry, const std::vector<searcher::Event>& handled) {
  const model::ExperimentId id = entry.experiment.id;
  const auto trials = static_cast<int64_t>(entry.trials.size());
  ++entry.searcher_sequence;
  entry.journaled += static_cast<int64_t>(handled.size());
  if (std::exchange(entry.is_new, false) || model::IsTerminal(entry.experiment.state) ||
      entry.journaled > std::max(kMinJournalLength, trials / kTrialsPerEvent)) {
    entry.journaled = 0;
    return PutSearcher{id, entry.searcher_sequence, entry.searcher.Snapshot()};
  }
  model::Value::List events;
  for (const searcher::Event& event : handled) events.push_back(searcher::ToValue(event));
  return AddSearcherEvents{id, entry.searcher_sequence, std::move(events)};
}

void Step::Log(const model::TaskId& task, const model::AllocationId& allocation,
               model::LogLevel level, std::string text) {
  model::LogLine line;
  line.task = task;
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
  std::set<model::TaskId> changed_tasks = tasks_;
  for (const model::TaskId& id : tasks_) rows.push_back(PutTask{s.tasks.at(id)});
  for (const model::AllocationId& id : allocations_) {
    const experiment::Allocation& allocation = s.allocations.at(id);
    rows.push_back(PutAllocation{allocation});
    if (experiment::IsTrial(allocation)) {
      changed.insert(s.trials.at(allocation.trial).experiment);
    } else {
      changed_tasks.insert(allocation.task);
    }
  }
  for (const model::ExperimentId& id : experiments_) {
    // The first and the last row are snapshots, even without an event in this step.
    const Entry& entry = s.experiments.at(id);
    if (entry.is_new || model::IsTerminal(entry.experiment.state)) handled_[id];
  }
  for (const auto& [id, handled] : handled_) {
    rows.push_back(SearcherRow(s.experiments.at(id), handled));
  }
  for (const model::AgentId& id : agent_states_)
    rows.push_back(PutAgentState{s.agent_states.at(id)});
  rows.insert(rows.end(), std::make_move_iterator(out.changes.begin()),
              std::make_move_iterator(out.changes.end()));
  out.changes = std::move(rows);
  for (const model::ExperimentId& id : changed) Effect(ExperimentChanged{id});
  for (const model::TaskId& id : changed_tasks) Effect(TaskChanged{id});
  if (reschedule_) Effect(ScheduleSoon{});
  for (const model::ExperimentId& id : experiments_) {
    // Retention applies to its checkpoints, and what it held may be removed.
    if (model::IsTerminal(s.experiments.at(id).experiment.state)) Effect(CollectGarbageSoon{});
  }
  NotifyWebhooks();
  Forget();
  UpdateScheduler();
  return std::move(out);
}

void Step::NotifyWebhooks() {
  for (const model::ExperimentId& id : experiments_) {
    Entry& entry = s.experiments.at(id);
    const experiment::Experiment& e = entry.experiment;
    if (entry.notified_state == e.state || !experiment::IsNotifiable(e.state)) continue;
    entry.notified_state = e.state;
    if (e.config->integrations.webhooks.exclude) continue;
    Change(RaiseWebhooks{experiment::MakeStateEvent(e, now)});
    Effect(DeliverWebhooksSoon{});
  }
}

void Step::Forget() {
  for (const model::AllocationId& id : allocations_) {
    if (s.allocations.at(id).state != model::AllocationState::kTerminated) continue;
    s.allocations.erase(id);
    s.backfilled.erase(id);
  }
  for (const model::ExperimentId& id : experiments_) {
    const auto entry = s.experiments.find(id);
    if (!model::IsTerminal(entry->second.experiment.state)) continue;
    for (const auto& [request, trial] : entry->second.trials) s.trials.erase(trial);
    s.ended[id] = entry->second.searcher_sequence;
    jobs_.insert(entry->second.experiment.job);
    s.experiments.erase(entry);
  }
  for (const model::TaskId& id : tasks_) {
    const auto task = s.tasks.find(id);
    if (!model::IsTerminal(task->second.state)) continue;
    jobs_.insert(experiment::GetJob(task->second));
    s.tasks.erase(task);
  }
}

void Step::UpdateScheduler() {
  for (const model::JobId& job : jobs_) {
    if (const std::optional<QueueMember> member = FindMember(s, job)) {
      s.scheduler.Put(MakeJob(*member));
      s.order.Put(job, *member->place);
    } else {
      s.order.Remove(job);
      s.scheduler.RemoveJob(job);
    }
  }
  for (const model::AllocationId& id : allocations_) {
    const auto allocation = s.allocations.find(id);
    if (allocation != s.allocations.end()) {
      s.slots.Put(allocation->second);
      s.scheduler.Put(MakeGang(s, allocation->second));
    } else {
      s.slots.Remove(id);
      s.scheduler.RemoveGang(id);
    }
  }
  for (const model::AgentId& id : nodes_) {
    const auto agent = s.agents.find(id);
    if (agent != s.agents.end()) {
      s.scheduler.Put(MakeNode(s, agent->second));
    } else {
      s.scheduler.RemoveNode(id);
    }
  }
  s.queue_changed |= reschedule_;
}

}  // namespace det::cluster
