// Names made of words, which are easier to distinguish and to pronounce than numbers.
//
// PURE.
#ifndef MASTER_API_COMMON_WORD_NAME_H_
#define MASTER_API_COMMON_WORD_NAME_H_

#include <cstdint>
#include <string>

namespace det::api {

// Returns one of 4,096 names: "calmly-brave-otter".
std::string MakeWordName(uint32_t seed);

}  // namespace det::api

#endif  // MASTER_API_COMMON_WORD_NAME_H_
