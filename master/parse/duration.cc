#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "master/parse/read.h"

namespace det::model {

std::optional<double> ParseDuration(std::string_view text) {
  constexpr std::string_view kUnits = "dhms";
  constexpr double kSeconds[] = {86400, 3600, 60, 1};
  const std::string words =
      absl::AsciiStrToLower(absl::StripAsciiWhitespace({text.data(), text.size()}));
  double total = 0;
  size_t next_unit = 0;  // no larger unit may follow
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find_first_not_of("0123456789.", at), words.size());
    double number = 0;
    if (!absl::SimpleAtod(words.substr(at, end - at), &number)) return std::nullopt;
    // A number without a unit.
    if (end == words.size()) return at == 0 ? std::optional(number) : std::nullopt;
    at = std::min(words.find_first_not_of(' ', end), words.size());
    const size_t unit = at == words.size() ? kUnits.npos : kUnits.find(words[at], next_unit);
    if (unit == kUnits.npos) return std::nullopt;
    total += number * kSeconds[unit];
    next_unit = unit + 1;
    at = std::min(words.find_first_not_of(' ', at + 1), words.size());
  }
  if (words.empty() || !(total < 1e15)) return std::nullopt;
  return total;
}

}  // namespace det::model
