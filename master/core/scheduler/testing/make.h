// Nodes, gangs and rounds for tests, to be perturbed per case.
#ifndef MASTER_CORE_SCHEDULER_TESTING_MAKE_H_
#define MASTER_CORE_SCHEDULER_TESTING_MAKE_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/core/scheduler/plan.h"
#include "master/core/scheduler/scheduler.h"
#include "master/core/scheduler/snapshot.h"

namespace det::scheduler {

inline Node MakeNode(const std::string& id, int slots, const std::string& pool = "default") {
  Node node{.id = model::AgentId(id), .resource_pool = pool};
  for (int i = 0; i < slots; ++i) node.slots.push_back({.id = i});
  return node;
}

// A gang with its job.
struct Submission {
  Gang gang;
  Job job;
};

// Of a job of its own, in the pool "default", submitted after all that were made before.
inline Submission MakeGang(const std::string& id, int slots, int priority = 42) {
  static int64_t submitted = 0;
  Submission made;
  made.gang.id = model::AllocationId(id);
  made.gang.resource_pool = "default";
  made.gang.slots = slots;
  made.gang.submitted = ++submitted;
  made.job.id = made.gang.job = model::JobId("job-" + id);
  made.job.priority = priority;
  return made;
}

inline Submission OfJob(Submission made, const std::string& job) {
  made.job.id = made.gang.job = model::JobId(job);
  return made;
}

// A job that is there already is replaced.
inline void Add(const Submission& made, Snapshot& snapshot) {
  snapshot.gangs.push_back(made.gang);
  std::erase_if(snapshot.jobs, [&](const Job& job) { return job.id == made.job.id; });
  snapshot.jobs.push_back(made.job);
}

inline Submission RunningOn(Submission made, const std::string& node, std::vector<int> slots) {
  made.gang.running_on.push_back({model::AgentId(node), std::move(slots)});
  return made;
}

// What the cluster looks like once the plan is carried out: who was asked to go is leaving.
inline void Apply(const Plan& plan, Snapshot& snapshot) {
  for (Gang& gang : snapshot.gangs) {
    for (const Assignment& assignment : plan.assign) {
      if (assignment.gang != gang.id) continue;
      gang.running_on = assignment.on;
      gang.started_at = gang.saved_at = snapshot.now;
    }
    for (const Preemption& preemption : plan.preempt) {
      if (preemption.victim == gang.id) gang.leaving = true;
    }
  }
}

// "g1=a:0,1+b:0 g2=c:", by id.
inline std::string Starts(const Plan& plan) {
  std::vector<std::string> parts;
  for (const Assignment& assignment : plan.assign) {
    std::vector<std::string> shares;
    for (const model::Placement& p : assignment.on) {
      shares.push_back(absl::StrCat(p.agent.value(), ":", absl::StrJoin(p.slots, ",")));
    }
    parts.push_back(absl::StrCat(assignment.gang.value(), "=", absl::StrJoin(shares, "+")));
  }
  std::sort(parts.begin(), parts.end());
  return absl::StrJoin(parts, " ");
}

// "g1 g2", in the order in which they are asked.
inline std::string Asked(const Plan& plan) {
  return absl::StrJoin(plan.preempt, " ", [](std::string* out, const Preemption& preemption) {
    out->append(preemption.victim.value());
  });
}

// "g3:NO_CAPACITY g4:BEHIND_OTHERS"
inline std::string Waits(const WaitReasons& waiting) {
  return absl::StrJoin(waiting, " ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first.value(), ":", std::string(ToString(entry.second.kind)));
  });
}

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_TESTING_MAKE_H_
