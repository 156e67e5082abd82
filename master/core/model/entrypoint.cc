#include "master/core/model/entrypoint.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"

namespace det::model {
namespace {

bool IsIdentifierStart(char c) { return absl::ascii_isalpha(c) || c == '_'; }

bool IsClassName(std::string_view text) {
  return !text.empty() && IsIdentifierStart(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == ':'; });
}

// The parts before and after the first colon of a text that is one word.
std::optional<std::pair<std::string_view, std::string_view>> Split(const Entrypoint& entrypoint) {
  const std::string* text = std::get_if<std::string>(&entrypoint);
  if (text == nullptr) return std::nullopt;
  if (std::any_of(text->begin(), text->end(), [](char c) { return absl::ascii_isspace(c); })) {
    return std::nullopt;
  }
  const size_t colon = text->find(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  const std::string_view view = *text;
  return std::pair(view.substr(0, colon), view.substr(colon + 1));
}

bool IsSource(std::string_view file) {
  for (const char* ending : {".cc", ".cpp", ".cxx"}) {
    if (file.ends_with(ending)) return file.size() > std::string_view(ending).size();
  }
  return false;
}

}  // namespace

std::optional<TrialEntrypoint> ParseTrialEntrypoint(const Entrypoint& entrypoint) {
  const auto parts = Split(entrypoint);
  if (!parts || !IsSource(parts->first) || !IsClassName(parts->second)) return std::nullopt;
  return TrialEntrypoint{std::string(parts->first), std::string(parts->second)};
}

bool IsPythonEntrypoint(const Entrypoint& entrypoint) {
  const auto parts = Split(entrypoint);
  if (!parts || IsSource(parts->first) || !IsClassName(parts->second)) return false;
  return IsIdentifierStart(parts->first.front()) &&
         std::all_of(parts->first.begin(), parts->first.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.'; });
}

std::vector<std::string> PythonTrialCommand(const Entrypoint& entrypoint) {
  return {"python3", "-m",      "determined.launch.torch_distributed",
          "--",      "--trial", std::get<std::string>(entrypoint)};
}

}  // namespace det::model
