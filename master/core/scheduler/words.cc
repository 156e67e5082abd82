#include "master/core/scheduler/words.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace det::scheduler {
namespace {

constexpr const char* kTypes[] = {"cpu", "cuda", "rocm", "tpu"};  // by model::DeviceType

}  // namespace

std::string Slots(int64_t count) { return absl::StrCat(count, count == 1 ? " slot" : " slots"); }

std::string SlotsOf(Micro amount) {
  return absl::StrCat(static_cast<double>(amount) / static_cast<double>(kWhole));
}

std::string Bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  int unit = 0;
  for (; unit < 4 && amount >= 1024; ++unit) amount /= 1024;
  return absl::StrCat(amount, " ", kUnits[unit]);
}

std::string Needs(const Shape& shape) {
  std::string text = shape.fraction < kWhole
                         ? absl::StrCat("needs ", SlotsOf(shape.fraction), " of a slot")
                     : shape.slots == 0 ? "needs an agent"
                                        : absl::StrCat("needs ", Slots(shape.slots));
  if (!shape.device.empty()) {
    absl::StrAppend(&text, " of device ", shape.device);
  } else if (shape.slot_type >= 0) {
    absl::StrAppend(&text, " of type ", kTypes[shape.slot_type]);
  }
  std::vector<std::string> more;
  if (shape.cpus > 0) {
    more.push_back(absl::StrCat(static_cast<double>(shape.cpus) / 1000, " cpus"));
  }
  if (shape.memory > 0) more.push_back(absl::StrCat(Bytes(shape.memory), " of memory"));
  if (!more.empty()) absl::StrAppend(&text, " with ", absl::StrJoin(more, " and "));
  if (!more.empty() && shape.slots > 1) absl::StrAppend(&text, " for each");
  return text;
}

std::string DeviceAndType(const std::pair<int, std::string>& device) {
  const char* const type = kTypes[device.first];
  return device.second.empty() ? type : absl::StrCat(device.second, " (", type, ")");
}

}  // namespace det::scheduler
