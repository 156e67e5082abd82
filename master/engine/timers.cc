#include "master/engine/timers.h"

#include "absl/time/time.h"

namespace det::engine {

void Timers::Set(const cluster::SetDeadline& deadline) {
  Cancel(deadline.allocation);
  deadlines_[deadline.allocation] = loop_.PostAt(
      deadline.at, [this, allocation = deadline.allocation] { OnDeadline(allocation); });
}

void Timers::Set(const cluster::SetScheduleTimer& timer) {
  Set(schedule_later_, timer.at, [this] { ScheduleSoon(); });
}

void Timers::Set(const cluster::SetCalendarTimer& timer) {
  Set(calendar_, timer.at, [this] { OnCalendar(); });
}

void Timers::Set(std::optional<base::TimerId>& timer, absl::Time at,
                 absl::AnyInvocable<void()> act) {
  if (timer) loop_.Cancel(*timer);
  timer = loop_.PostAt(at, [&timer, act = std::move(act)]() mutable {
    timer.reset();
    act();
  });
}

void Timers::Cancel(const model::AllocationId& allocation) {
  const auto it = deadlines_.find(allocation);
  if (it == deadlines_.end()) return;
  loop_.Cancel(it->second);
  deadlines_.erase(it);
}

void Timers::CancelAll() {
  for (const auto& [allocation, timer] : deadlines_) loop_.Cancel(timer);
  deadlines_.clear();
  for (const auto& timer : {schedule_again_, schedule_later_, calendar_}) {
    if (timer) loop_.Cancel(*timer);
  }
}

void Timers::ScheduleSoon() {
  if (schedule_posted_) return;
  schedule_posted_ = true;
  loop_.Post([this] { OnSchedule(); });
}

void Timers::OnDeadline(const model::AllocationId& allocation) {
  deadlines_.erase(allocation);
  if (!fire_(cluster::AllocationDeadline{allocation})) {
    Set(cluster::SetDeadline{allocation, loop_.Now() + kRetryInterval});
  }
}

void Timers::OnSchedule() {
  schedule_posted_ = false;
  schedule_again_.reset();
  if (fire_(cluster::ScheduleTick{})) return;
  schedule_posted_ = true;
  schedule_again_ = loop_.PostAfter(kRetryInterval, [this] { OnSchedule(); });
}

void Timers::OnCalendar() {
  if (fire_(cluster::CalendarTick{})) return;
  Set(cluster::SetCalendarTimer{loop_.Now() + kRetryInterval});
}

}  // namespace det::engine
