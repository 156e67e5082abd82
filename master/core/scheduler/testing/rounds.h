// Plays a cluster round by round and says what is to happen in each.
#ifndef MASTER_CORE_SCHEDULER_TESTING_ROUNDS_H_
#define MASTER_CORE_SCHEDULER_TESTING_ROUNDS_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "master/core/scheduler/testing/make.h"
#include <gtest/gtest.h>

namespace det::scheduler {

// One pass; before it, time goes by, some end, others come. Those that were asked to go leave, and
// wait again, where `end` names them with a "-" behind: "g1-".
struct Round {
  absl::Duration later = absl::ZeroDuration();
  std::vector<std::string> end;
  std::vector<Submission> submit;
  std::string starts;
  std::string waits;
  std::string asks;
};

inline void Leave(Snapshot& snapshot, const std::string& name) {
  const bool again = name.back() == '-';
  const std::string id = again ? name.substr(0, name.size() - 1) : name;
  for (Gang& gang : snapshot.gangs) {
    if (gang.id.value() != id) continue;
    gang.running_on.clear();
    gang.leaving = false;
    gang.queued_at = snapshot.now;
  }
  if (!again) {
    std::erase_if(snapshot.gangs, [&](const Gang& g) { return g.id.value() == id; });
  }
}

// Plays the rounds, then one more in which nothing may happen.
inline Snapshot Play(Snapshot snapshot, const std::vector<Round>& rounds) {
  for (size_t i = 0; i < rounds.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("round ", i));
    snapshot.now += rounds[i].later;
    for (const std::string& id : rounds[i].end) Leave(snapshot, id);
    for (const Submission& made : rounds[i].submit) {
      Add(made, snapshot);
      snapshot.gangs.back().queued_at = snapshot.now;
    }
    const Scheduled scheduled = Schedule(snapshot);
    EXPECT_EQ(Starts(scheduled.plan), rounds[i].starts);
    EXPECT_EQ(Waits(scheduled.waiting), rounds[i].waits);
    EXPECT_EQ(Asked(scheduled.plan), rounds[i].asks);
    Apply(scheduled.plan, snapshot);
    const Scheduled rest = Schedule(snapshot);
    EXPECT_EQ(Starts(rest.plan), "") << "a cluster at rest stays at rest";
    EXPECT_EQ(Asked(rest.plan), "") << "nobody is asked twice";
  }
  return snapshot;
}

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_TESTING_ROUNDS_H_
