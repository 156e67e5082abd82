// Simulates a cluster round by round and checks the plan of each round.
#ifndef MASTER_CORE_SCHEDULER_TESTING_ROUNDS_H_
#define MASTER_CORE_SCHEDULER_TESTING_ROUNDS_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "master/core/scheduler/testing/make.h"
#include <gtest/gtest.h>

namespace det::scheduler {

// One pass and its expected plan. Before the pass, time advances by `later`, the gangs in `end`
// end, and the gangs in `submit` are queued. A name in `end` with a trailing "-", such as "g1-", is
// a preempted gang that exits and is queued again.
struct Round {
  absl::Duration later = absl::ZeroDuration();
  std::vector<std::string> end;
  std::vector<Submission> submit;
  std::string starts;
  std::string waits;
  std::string preempts;
};

inline void End(Snapshot& snapshot, const std::string& name) {
  const bool requeued = name.back() == '-';
  const std::string id = requeued ? name.substr(0, name.size() - 1) : name;
  for (Gang& gang : snapshot.gangs) {
    if (gang.id.value() != id) continue;
    gang.running_on.clear();
    gang.terminating = false;
    gang.queued_at = snapshot.now;
  }
  if (!requeued) {
    std::erase_if(snapshot.gangs, [&](const Gang& g) { return g.id.value() == id; });
  }
}

// Runs the rounds. After each, a second pass must neither start nor preempt a gang.
inline Snapshot RunRounds(Snapshot snapshot, const std::vector<Round>& rounds) {
  for (size_t i = 0; i < rounds.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("round ", i));
    snapshot.now += rounds[i].later;
    for (const std::string& id : rounds[i].end) End(snapshot, id);
    for (const Submission& submission : rounds[i].submit) {
      Add(submission, snapshot);
      snapshot.gangs.back().queued_at = snapshot.now;
    }
    const Scheduled scheduled = Schedule(snapshot);
    EXPECT_EQ(Starts(scheduled.plan), rounds[i].starts);
    EXPECT_EQ(Waits(scheduled.waiting), rounds[i].waits);
    EXPECT_EQ(Preempted(scheduled.plan), rounds[i].preempts);
    Apply(scheduled.plan, snapshot);
    const Scheduled second = Schedule(snapshot);
    EXPECT_EQ(Starts(second.plan), "") << "the second pass starts a gang";
    EXPECT_EQ(Preempted(second.plan), "") << "the second pass preempts a gang";
  }
  return snapshot;
}

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_TESTING_ROUNDS_H_
