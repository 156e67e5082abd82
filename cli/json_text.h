// Formatting and reading of small JSON texts. Used by commands on any thread. Never throws.
#ifndef CLI_JSON_TEXT_H_
#define CLI_JSON_TEXT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace det::cli {

// Returns the JSON with one line per member, indented by 2; other text is returned unchanged.
std::string IndentJson(absl::string_view json);

// Returns the string (or number, as text) of a member of the top-level object; nullopt if there is
// none.
std::optional<std::string> GetMember(absl::string_view json, absl::string_view member);

// Returns whether `text` is valid UTF-8, as all text of the API must be.
bool IsUtf8(absl::string_view text);

// Returns `text` for a message, with bytes that are not UTF-8 as \xE9.
std::string EscapeInvalidUtf8(absl::string_view text);

// Returns `text` with JSON quotes and escapes.
std::string QuoteJson(absl::string_view text);

}  // namespace det::cli

#endif  // CLI_JSON_TEXT_H_
