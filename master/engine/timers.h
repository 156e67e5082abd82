// The engine's timers: deadlines of allocations, the next scheduling pass, calendar changes.
// Called, and calls back, on the engine's loop. No timer runs when there is nothing to wait for.
#ifndef MASTER_ENGINE_TIMERS_H_
#define MASTER_ENGINE_TIMERS_H_

#include <map>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "base/event_loop.h"
#include "master/core/cluster/effect.h"
#include "master/core/cluster/event.h"

namespace det::engine {

class Timers {
 public:
  // `fire` receives each event when it is due; if it returns false, it is called again later.
  Timers(base::EventLoop* loop, absl::AnyInvocable<bool(const cluster::Event&)> fire)
      : loop_(*loop), fire_(std::move(fire)) {}

  void Set(const cluster::SetDeadline& deadline);
  void Set(const cluster::SetScheduleTimer& timer);
  void Set(const cluster::SetCalendarTimer& timer);
  void Cancel(const model::AllocationId& allocation);
  void CancelAll();
  // Calls before the next pass are combined.
  void ScheduleSoon();

 private:
  static constexpr absl::Duration kRetryInterval = absl::Seconds(1);

  void OnDeadline(const model::AllocationId& allocation);
  void OnSchedule();
  void OnCalendar();
  // Replaces `timer`: runs `act` at `at`.
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
