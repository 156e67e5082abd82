#include "master/api/common/word_name.h"

#include "absl/strings/str_cat.h"

namespace det::api {

std::string MakeWordName(uint32_t seed) {
  constexpr const char* kAdverbs[] = {"barely", "boldly", "calmly", "deeply", "fairly", "gently",
                                      "kindly", "lately", "mildly", "nearly", "openly", "purely",
                                      "rarely", "slowly", "warmly", "wisely"};
  constexpr const char* kAdjectives[] = {"amber", "brave", "bright", "clever", "curly", "eager",
                                         "fuzzy", "grand", "jolly",  "lucky",  "merry", "noble",
                                         "quick", "quiet", "sunny",  "witty"};
  constexpr const char* kAnimals[] = {"badger", "bison",  "crane", "dolphin", "falcon", "gecko",
                                      "heron",  "jackal", "koala", "lynx",    "marten", "newt",
                                      "otter",  "panda",  "robin", "walrus"};
  return absl::StrCat(kAdverbs[seed % 16], "-", kAdjectives[seed / 16 % 16], "-",
                      kAnimals[seed / 256 % 16]);
}

}  // namespace det::api
