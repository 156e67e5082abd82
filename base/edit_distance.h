// How far two words are from each other, for whoever suggests the one that was meant.
//
// PURE.
#ifndef BASE_EDIT_DISTANCE_H_
#define BASE_EDIT_DISTANCE_H_

#include <cstddef>
#include <string_view>

namespace det::base {

// How many letters (bytes) are to be added, removed or replaced: Levenshtein's distance.
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace det::base

#endif  // BASE_EDIT_DISTANCE_H_
