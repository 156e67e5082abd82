#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "master/simulate/simulation.h"

namespace det::simulate {

absl::StatusOr<AgentGroup> ParseAgentGroup(std::string_view text) {
  AgentGroup group;
  const size_t times = text.find('x'), colon = text.find(':');
  const auto number = [&](size_t from, size_t to, int* out) {
    if (from > to || to > text.size()) return false;
    const absl::string_view part(text.data() + from, to - from);
    return absl::SimpleAtoi(part, out) && *out > 0;
  };
  const size_t end = colon == std::string_view::npos ? text.size() : colon;
  const bool good = times != std::string_view::npos && number(0, times, &group.agents) &&
                    number(times + 1, end, &group.slots) && colon != text.size() - 1;
  constexpr int64_t kMaxSlots = 10'000'000;
  if (!good || int64_t{group.agents} * group.slots > kMaxSlots) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected agents as NUMBERxSLOTS[:POOL], such as 1000x8 or 4x8:large, found \"",
        std::string(text), "\""));
  }
  if (colon != std::string_view::npos) group.pool = std::string(text.substr(colon + 1));
  return group;
}

}  // namespace det::simulate
