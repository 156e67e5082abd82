// UTF-8 texts (Unicode, table 3-7: no overlong forms, no surrogates).
// Called by whoever takes texts from outside, on any thread.
// Never changes anything, does no I/O.
#ifndef BASE_UTF8_H_
#define BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace det::base {

// Bytes of the character that `text` begins with; 0 if it begins with none. NUL is a character.
size_t Utf8Length(std::string_view text);

// Whether all of it is UTF-8.
bool IsUtf8(std::string_view text);

}  // namespace det::base

#endif  // BASE_UTF8_H_
