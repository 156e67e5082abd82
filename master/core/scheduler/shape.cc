#include "master/core/scheduler/shape.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"

namespace det::scheduler {
namespace {

// Up to three binary digits of whole seconds: few classes, whatever users ask for.
absl::Duration RoundUp(absl::Duration time) {
  if (time == absl::InfiniteDuration()) return time;
  int64_t seconds = std::max<int64_t>(1, absl::ToInt64Seconds(absl::Ceil(time, absl::Seconds(1))));
  int64_t step = 1;
  while (seconds / step >= 16) step *= 2;
  seconds = (seconds + step - 1) / step * step;
  return absl::Seconds(seconds);
}

}  // namespace

Shape ShapeOf(const Gang& gang) {
  Shape shape;
  shape.slots = std::max(0, gang.slots);
  shape.max_slots = shape.slots == 0 ? 0 : std::max(shape.slots, gang.max_slots);
  if (gang.fraction > 0 && gang.fraction < 1 && gang.slots == 1) {
    shape.fraction = std::max<Micro>(1, static_cast<Micro>(gang.fraction * kWhole + 1e-6));
    shape.max_slots = 1;
  }
  if (gang.cpus > 0) shape.cpus = static_cast<int64_t>(std::ceil(gang.cpus * 1000 - 1e-6));
  shape.memory = std::max<int64_t>(0, gang.memory);
  if (gang.slot_type) shape.slot_type = static_cast<int>(*gang.slot_type);
  if (!gang.device.empty()) shape.device = absl::AsciiStrToLower(gang.device);
  shape.single_node = gang.single_node || shape.slots == 0;
  if (shape.max_slots == 1) shape.single_node = true;
  shape.blocked = gang.blocked;
  std::sort(shape.blocked.begin(), shape.blocked.end());
  shape.max_run_time = RoundUp(gang.max_run_time);
  return shape;
}

bool AskAlike(const Gang& a, const Gang& b) {
  return a.slots == b.slots && a.max_slots == b.max_slots && a.fraction == b.fraction &&
         a.cpus == b.cpus && a.memory == b.memory && a.slot_type == b.slot_type &&
         a.device == b.device && a.single_node == b.single_node && a.blocked == b.blocked &&
         a.max_run_time == b.max_run_time;
}

}  // namespace det::scheduler
