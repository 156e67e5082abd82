#include "cli/json_text.h"

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"

namespace det::cli {

using Json = nlohmann::ordered_json;

std::string IndentJson(absl::string_view json) {
  const Json value = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return std::string(json);
  return value.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::optional<std::string> GetMember(absl::string_view json, absl::string_view member) {
  const Json value = Json::parse(json, nullptr, false);
  if (!value.is_object()) return std::nullopt;
  const auto found = value.find(std::string(member));
  if (found == value.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  return found->dump();
}

bool IsUtf8(absl::string_view text) { return base::IsUtf8({text.data(), text.size()}); }

std::string EscapeInvalidUtf8(absl::string_view text) {
  return IsUtf8(text) ? std::string(text) : absl::CHexEscape(text);
}

std::string QuoteJson(absl::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace det::cli
