// A pattern of paths: `*` and `?` stand for what is no '/', `[a-z]` and `[!a-z]` for one such
// character, `\` before one for itself, and a whole part `**` for any number of folders. A '/' at
// the end stands for all that lies below. Computes, and nothing else; any thread.
#ifndef BASE_GLOB_H_
#define BASE_GLOB_H_

#include <string>
#include <string_view>
#include <vector>

namespace det::base {

class Glob {
 public:
  explicit Glob(std::string_view pattern);

  // Whether it stands for this path, all of it.
  bool Fits(std::string_view path) const;

 private:
  std::vector<std::string> parts_;  // between the '/'
};

}  // namespace det::base

#endif  // BASE_GLOB_H_
