// The distance between two words, used to suggest a correction.
//
// PURE.
#ifndef BASE_EDIT_DISTANCE_H_
#define BASE_EDIT_DISTANCE_H_

#include <cstddef>
#include <string_view>

namespace det::base {

// Returns the Levenshtein distance: the number of bytes to add, remove or replace.
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace det::base

#endif  // BASE_EDIT_DISTANCE_H_
