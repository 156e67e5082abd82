// JSON text for people.
// Called by commands that print or read small JSON files; on any thread. Never throws.
#ifndef CLI_JSON_TEXT_H_
#define CLI_JSON_TEXT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace det::cli {

// The same JSON with a line per member, indented by 2; other text comes back as it is.
std::string Indented(absl::string_view json);

// The string (or number, as text) at a member of the top object; nullopt without.
std::optional<std::string> MemberOf(absl::string_view json, absl::string_view member);

// Whether `text` is UTF-8 from its beginning to its end, as all text of the API must be.
bool IsUtf8(absl::string_view text);

// `text` for a message: bytes that are no UTF-8 as \xE9.
std::string Legible(absl::string_view text);

// "text" with its quotes and escapes.
std::string Quoted(absl::string_view text);

}  // namespace det::cli

#endif  // CLI_JSON_TEXT_H_
