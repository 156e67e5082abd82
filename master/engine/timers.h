// The engine's own timers: deadlines of allocations, the next round of scheduling, the calendar.
// Called and calling on the engine's loop. Never wakes up with nothing to do.
#ifndef MASTER_ENGINE_TIMERS_H_
#define MASTER_ENGINE_TIMERS_H_

#include <map>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "base/event_loop.h"
#include "master/core/cluster/effect.h"
#include "master/core/cluster/event.h"

namespace det::engine {

class Timers {
 public:
  // `fire` is given each event when its time has come; false: it could not be taken now, and is
  // given again later.
  Timers(base::EventLoop* loop, absl::AnyInvocable<bool(const cluster::Event&)> fire)
      : loop_(*loop), fire_(std::move(fire)) {}

  void Set(const cluster::SetDeadline& deadline);
  void Set(const cluster::SetScheduleTimer& timer);
  void Set(const cluster::SetCalendarTimer& timer);
  void Cancel(const model::AllocationId& allocation);
  void CancelAll();
  // Several calls before the round are one.
  void ScheduleSoon();

 private:
  static constexpr absl::Duration kAgain = absl::Seconds(1);

  void OnDeadline(const model::AllocationId& allocation);
  void OnSchedule();
  void OnCalendar();
  // `act` at `at`, instead of what `timer` was set for.
  void Set(std::optional<base::TimerId>& timer, absl::Time at, absl::AnyInvocable<void()> act);

  base::EventLoop& loop_;
  absl::AnyInvocable<bool(const cluster::Event&)> fire_;
  std::map<model::AllocationId, base::TimerId> deadlines_;
  bool schedule_posted_ = false;
  std::optional<base::TimerId> schedule_again_;
  std::optional<base::TimerId> schedule_later_;
  std::optional<base::TimerId> calendar_;
};

}  // namespace det::engine

#endif  // MASTER_ENGINE_TIMERS_H_
