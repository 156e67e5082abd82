// UTF-8 (Unicode, table 3-7: no overlong forms, no surrogates). For text from outside
// the process; any thread. Changes nothing and does no I/O.
#ifndef BASE_UTF8_H_
#define BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace det::base {

// Returns the length in bytes of the first character of `text`; 0 if `text` does not begin with a
// valid character. NUL is a character.
size_t Utf8Length(std::string_view text);

// Returns whether the whole text is valid UTF-8.
bool IsUtf8(std::string_view text);

// Returns the number of characters. REQUIRES: `text` is valid UTF-8.
size_t CountCharacters(std::string_view text);

}  // namespace det::base

#endif  // BASE_UTF8_H_
