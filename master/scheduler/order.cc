#include "master/scheduler/order.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace det::scheduler {

std::vector<const Gang*> WaitingInOrder(const Snapshot& snapshot) {
  std::map<model::JobId, Job> jobs;
  for (const Job& job : snapshot.jobs) jobs[job.id] = job;
  std::vector<const Gang*> waiting;
  for (const Gang& gang : snapshot.gangs) {
    if (gang.running_on.empty()) waiting.push_back(&gang);
  }
  const auto key = [&](const Gang* gang) {
    const auto job = jobs.find(gang->job);
    const Job& of = job == jobs.end() ? Job() : job->second;
    return std::tuple(of.priority, of.position, gang->submitted, gang->id);
  };
  std::sort(waiting.begin(), waiting.end(),
            [&](const Gang* a, const Gang* b) { return key(a) < key(b); });
  return waiting;
}

}  // namespace det::scheduler
