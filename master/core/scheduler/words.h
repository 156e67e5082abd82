// Words that reasons are made of.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_WORDS_H_
#define MASTER_CORE_SCHEDULER_WORDS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "master/core/scheduler/shape.h"

namespace det::scheduler {

std::string Slots(int64_t count);       // "1 slot", "4 slots"
std::string SlotsOf(Micro amount);      // "2.5"
std::string Bytes(int64_t bytes);       // "8 GiB"
std::string Needs(const Shape& shape);  // "needs 4 slots of H200 with 2 cpus each"
std::string DeviceAndType(const std::pair<int, std::string>& device);  // "nvidia h200 (cuda)"

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_WORDS_H_
