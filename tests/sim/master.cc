#include "tests/sim/master.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/invariants.h"

namespace det::sim {
namespace {

using Fault = store::FaultyStore::Fault;

// A master that cannot renew its lease for this time stops responding until it can. Another one
// takes over after this time at the earliest.
constexpr absl::Duration kLease = absl::Seconds(6);
// How long a replaced master may keep running without effect, unless a failed commit ends it.
constexpr absl::Duration kOlderLives = absl::Seconds(30);
// The whole state is compared at every N-th rest, the changes at every rest.
constexpr int64_t kThorough = 16;

}  // namespace

Master::Master(Stage& stage, EffectCallback news)
    : stage_(stage), on_effect_(std::move(news)), reader_(database_) {
  StartLeader();
}

cluster::ProjectRef Master::MakeProjectRef(const std::string& workspace) {
  const auto created = reader_.workspaces().AddWorkspace({.name = workspace});
  store::ProjectRecord wanted;
  wanted.workspace = created.ok() ? created->id : 0;
  wanted.name = "p";
  const auto project = reader_.projects().AddProject(wanted);
  if (!created.ok() || !project.ok()) stage_.Fail("cannot create a workspace and project");
  return {wanted.workspace, project.ok() ? project->id : 0, workspace, wanted.name};
}

// ---- processes ----

void Master::StartLeader() {
  if (leader_ != nullptr) return;
  if (stage_.now() < database_back_) {
    return stage_.After(absl::Seconds(1), [this] { StartLeader(); });
  }
  stage_.Log("master: start");
  leader_ = std::make_shared<MasterProcess>(stage_, *this, database_, ahead_);
  stage_.Check(leader_->Start());
  unchecked_.clear();
  rests_ = 0;
}

void Master::Crash() {
  if (leader_ == nullptr) return;
  stage_.Log("master: crash");
  Destroy(*leader_);
}

void Master::Destroy(MasterProcess& process) {
  process.Kill();
  if (&process == disconnected_) disconnected_ = nullptr;
  if (&process == older_.get()) return older_.reset();
  ++stage_.counts.crashes;
  leader_.reset();
  stage_.After(stage_.Chance(0.1) ? stage_.Ms(20'000, 60'000) : stage_.Ms(50, 5'000),
               [this] { StartLeader(); });
}

void Master::TakeOver() {
  if (leader_ == nullptr || older_ != nullptr || disconnected_ != nullptr) return;
  stage_.Log("master: disconnected from the database");
  disconnected_ = leader_.get();
  disconnected_until_ = stage_.now() + stage_.Ms(0, 20'000);
  lease_until_ = stage_.now() + kLease;
  stage_.After(kLease, [this, disconnected = disconnected_] {
    if (disconnected_ == disconnected && leader_.get() == disconnected) leader_->DisconnectAgents();
  });
  stage_.After(kLease + stage_.Ms(1, 4'000),
               [this, disconnected = disconnected_] { Succeed(disconnected); });
}

void Master::Succeed(const MasterProcess* disconnected) {
  // The master has crashed or renewed its lease in the meantime, or no other master can take over.
  if (disconnected_ != disconnected || leader_.get() != disconnected) return;
  if (stage_.now() < database_back_ || stage_.now() >= disconnected_until_) {
    disconnected_ = nullptr;
    return;
  }
  stage_.Log("master: another takes over");
  ++stage_.counts.takeovers;
  older_ = std::exchange(leader_, nullptr);
  of_older_ = committed_;
  ahead_ += stage_.Ms(-2'000, 2'000);
  StartLeader();
  stage_.After(kOlderLives, [this, older = std::weak_ptr(older_)] {
    if (const auto process = older.lock(); process != nullptr && process == older_)
      Destroy(*process);
  });
}

void Master::LoseDatabase(absl::Duration away) {
  stage_.Log(absl::StrCat("database: unavailable for ", absl::FormatDuration(away)));
  ++stage_.counts.outages;
  database_back_ = std::max(database_back_, stage_.now() + away);
}

void Master::SetClock(absl::Duration by) {
  stage_.Log(absl::StrCat("master: its clock is set by ", absl::FormatDuration(by)));
  ++stage_.counts.clocks_set;
  ahead_ += by;
  if (leader_ != nullptr) leader_->SetClock(ahead_);
}

// ---- requests and streams ----

bool Master::Responds(const MasterProcess* process) const {
  if (process == nullptr || process->killed() || process == older_.get()) return false;
  return process != disconnected_ || stage_.now() < lease_until_;
}

void Master::Submit(const cluster::Event& event, const Reply& reply) {
  if (!Responds(leader_.get())) return;
  ++stage_.counts.events;
  leader_->Submit(event, reply);
}

void Master::Watch(const model::AllocationId& id,
                   const std::function<void(const experiment::Allocation*)>& done) {
  if (Responds(leader_.get())) leader_->Watch(id, done);
}

void Master::Register(int64_t stream, const model::Agent& agent,
                      const std::vector<model::AllocationId>& running,
                      const std::function<void(const Down&)>& down) {
  if (!Responds(leader_.get()) || broken_.contains(stream)) return down(Closed{});
  streams_[stream] = leader_->weak_from_this();
  leader_->Register(stream, agent, running, down);
}

MasterProcess* Master::FindProcess(int64_t stream) {
  const auto it = streams_.find(stream);
  const auto process = it == streams_.end() ? nullptr : it->second.lock();
  return Responds(process.get()) ? process.get() : nullptr;
}

void Master::Report(int64_t stream, const model::AgentId& agent, const agent::Report& report) {
  ++stage_.counts.events;
  if (MasterProcess* process = FindProcess(stream)) process->Report(stream, agent, report);
}

void Master::NoticeBreak(int64_t stream, const model::AgentId& agent) {
  broken_.insert(stream);
  if (MasterProcess* process = FindProcess(stream)) process->NoticeBreak(stream, agent);
  streams_.erase(stream);
}

// ---- the database ----

Fault Master::ChooseCommitFault(const MasterProcess& process) {
  if (stage_.now() < database_back_) return Fault::kUnreached;
  if (&process == disconnected_ && stage_.now() < disconnected_until_) return Fault::kUnreached;
  if (stage_.calm) return Fault::kNone;
  const int64_t dice = stage_.Pick(0, 999);
  if (dice == 0) {
    ++stage_.counts.refused_commits;
    return Fault::kRejected;
  }
  if (dice < 20) {
    ++stage_.counts.lost_acknowledgements;
    return Fault::kLostAck;
  }
  return dice < 30 ? Fault::kUnreached : Fault::kNone;
}

void Master::OnCommitted(const MasterProcess& process,
                         const std::vector<cluster::Change>& changes) {
  ++stage_.counts.commits;
  if (&process != leader_.get()) stage_.Fail("a replaced master has committed");
  committed_.Apply(changes);
  unchecked_.insert(unchecked_.end(), changes.begin(), changes.end());
}

void Master::OnEffect(const MasterProcess& process, const cluster::Effect& effect) {
  const bool older = &process == older_.get();
  stage_.Check(CheckCommitted(older ? of_older_ : committed_, effect));
  on_effect_(effect);
}

std::vector<model::MetricReport> Master::Metrics(model::TrialId trial) {
  const absl::StatusOr<std::vector<model::MetricReport>> metrics =
      reader_.ListMetrics({trial}, "validation");
  stage_.Check(metrics.status());
  return metrics.value_or(std::vector<model::MetricReport>());
}

// ---- checks ----

void Master::OnStep(MasterProcess& process) {
  if (process.killed()) return Destroy(process);
  if (stage_.Fault(0.0004)) {
    stage_.Log("master: crash between two steps");
    return Destroy(process);
  }
  if (&process == leader_.get() && process.AtRest()) CheckRest();
}

void Master::CheckRest() {
  if (rests_++ % kThorough == 0) return CheckAll();
  stage_.Check(CheckChanges(*leader_->cluster(), committed_, unchecked_));
  stage_.Check(CheckRows(committed_));
  unchecked_.clear();
}

void Master::CheckAll() {
  const cluster::Cluster& cluster = *leader_->cluster();
  unchecked_.clear();
  stage_.Check(CheckRows(committed_));
  stage_.Check(cluster.CheckScheduler());
  stage_.Check(CheckDurable(cluster, committed_.Load()));
}

}  // namespace det::sim
