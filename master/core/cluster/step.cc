#include "master/core/cluster/step.h"

#include <algorithm>
#include <utility>

#include "master/core/cluster/mirror.h"
#include "master/core/experiment/facts.h"
#include "master/core/searcher/journal.h"

namespace det::cluster {
namespace {

// A snapshot costs as much as there are trials; spread over so many events it costs each little,
// and a restart replays no more than these.
constexpr int64_t kShortestJournal = 64;
constexpr int64_t kTrialsPerEvent = 8;

}  // namespace

void Step::Journal(const Entry& entry, const searcher::Event& event) {
  heard_[entry.experiment.id].push_back(event);
}

cluster::Change Step::SearcherRow(Entry& entry, const std::vector<searcher::Event>& heard) {
  const model::ExperimentId id = entry.experiment.id;
  const auto trials = static_cast<int64_t>(entry.trials.size());
  ++entry.searcher_sequence;
  entry.journaled += static_cast<int64_t>(heard.size());
  if (std::exchange(entry.is_new, false) || model::IsTerminal(entry.experiment.state) ||
      entry.journaled > std::max(kShortestJournal, trials / kTrialsPerEvent)) {
    entry.journaled = 0;
    return PutSearcher{id, entry.searcher_sequence, entry.searcher.Snapshot()};
  }
  model::Value::List events;
  for (const searcher::Event& event : heard) events.push_back(searcher::ToValue(event));
  return AddSearcherEvents{id, entry.searcher_sequence, std::move(events)};
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
  for (const model::ExperimentId& id : experiments_) {
    // The last one is a snapshot, also if nothing was heard in this step.
    const Entry& entry = s.experiments.at(id);
    if (entry.is_new || model::IsTerminal(entry.experiment.state)) heard_[id];
  }
  for (const auto& [id, heard] : heard_) {
    rows.push_back(SearcherRow(s.experiments.at(id), heard));
  }
  for (const model::AgentId& id : agent_states_)
    rows.push_back(PutAgentState{s.agent_states.at(id)});
  rows.insert(rows.end(), std::make_move_iterator(out.changes.begin()),
              std::make_move_iterator(out.changes.end()));
  out.changes = std::move(rows);
  for (const model::ExperimentId& id : changed) Effect(ExperimentChanged{id});
  if (reschedule_) Effect(ScheduleSoon{});
  for (const model::ExperimentId& id : experiments_) {
    // Its checkpoints are thinned out, and what it held may go.
    if (model::IsTerminal(s.experiments.at(id).experiment.state)) Effect(SweepSoon{});
  }
  TellWebhooks();
  Forget();
  TellScheduler();
  return std::move(out);
}

void Step::TellWebhooks() {
  for (const model::ExperimentId& id : experiments_) {
    Entry& entry = s.experiments.at(id);
    const experiment::Experiment& e = entry.experiment;
    if (entry.told == e.state || !experiment::IsTold(e.state)) continue;
    entry.told = e.state;
    if (e.config->integrations.webhooks.exclude) continue;
    model::WebhookEvent event;
    event.trigger = model::WebhookTrigger::kExperimentStateChange;
    event.experiment = id;
    event.state = std::string(ToString(e.state));
    event.data = model::Value::Object{{"experiment", experiment::Facts(e, now)}};
    event.at = now;
    Change(RaiseWebhooks{std::move(event)});
    Effect(DeliverSoon{});
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
    jobs_.emplace(id, entry->second.experiment.job);
    s.experiments.erase(entry);
  }
}

void Step::TellScheduler() {
  for (const auto& [id, job] : jobs_) {
    const auto entry = s.experiments.find(id);
    if (entry != s.experiments.end()) {
      s.scheduler.Put(MakeJob(entry->second.experiment));
      s.order.Put(id, entry->second.experiment.queue);
    } else {
      s.order.Remove(id);
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
