// A pattern for paths. `*` and `?` match any characters but '/', `[a-z]` and `[!a-z]` match one
// such character, `\` quotes the next character, and a whole component `**` matches any number of
// directories. A trailing '/' matches everything below. No I/O; any thread.
#ifndef BASE_GLOB_H_
#define BASE_GLOB_H_

#include <string>
#include <string_view>
#include <vector>

namespace det::base {

class Glob {
 public:
  explicit Glob(std::string_view pattern);

  // Returns whether the pattern matches the whole of `path`.
  bool Matches(std::string_view path) const;

 private:
  std::vector<std::string> parts_;  // components between the '/'
};

}  // namespace det::base

#endif  // BASE_GLOB_H_
