// Nodes and gangs for tests, to be perturbed per case.
#ifndef MASTER_SCHEDULER_TESTING_MAKE_H_
#define MASTER_SCHEDULER_TESTING_MAKE_H_

#include <string>

#include "master/scheduler/plan.h"
#include "master/scheduler/snapshot.h"

namespace det::scheduler {

inline Node MakeNode(const std::string& id, int slots, const std::string& pool = "default") {
  Node node{.id = model::AgentId(id), .resource_pool = pool};
  for (int i = 0; i < slots; ++i) node.slots.push_back({.id = i});
  return node;
}

// Of a job of its own, in the pool "default", submitted after all that were made before.
inline Gang MakeGang(const std::string& id, int slots, int priority = 42) {
  static int64_t submitted = 0;
  Gang gang;
  gang.id = model::AllocationId(id);
  gang.job = model::JobId("job-" + id);
  gang.resource_pool = "default";
  gang.slots = slots;
  (void)priority;
  gang.submitted = ++submitted;
  return gang;
}

// What the cluster looks like once the plan is carried out.
inline void Apply(const Plan& plan, Snapshot& snapshot) {
  for (Gang& gang : snapshot.gangs) {
    for (const Assignment& a : plan.assign) {
      if (a.gang == gang.id) gang.running_on = a.on;
    }
  }
}

}  // namespace det::scheduler

#endif  // MASTER_SCHEDULER_TESTING_MAKE_H_
