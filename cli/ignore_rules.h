// Rules for files that are excluded from a context directory, a subset of the .gitignore syntax.
// Used by context_dir. Does no I/O.
//
// A line of .detignore: blank lines and #comments are skipped; `*` and `?` match within a name,
// `**` matches across directories, [abc] matches one of several characters; a `/` at the start or
// in the middle anchors the pattern at the top directory; a `/` at the end matches only
// directories; `!` includes a file again. The last matching line decides. A file in an excluded
// directory cannot be included again.
#ifndef CLI_IGNORE_RULES_H_
#define CLI_IGNORE_RULES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace det::cli {

class IgnoreRules {
 public:
  // Returns the built-in rules: .git, __pycache__, *.pyc, .DS_Store, .ipynb_checkpoints, bazel-*.
  static IgnoreRules BuiltIn();

  // Adds the lines of a .detignore file; they take precedence over earlier rules.
  void Add(absl::string_view text);

  // `path` is relative to the context directory, with '/' between names.
  bool Ignores(absl::string_view path, bool is_directory) const;

 private:
  struct Rule {
    std::string pattern;
    bool negated = false;
    bool directories_only = false;
    bool anchored = false;
  };
  std::vector<Rule> rules_;
};

}  // namespace det::cli

#endif  // CLI_IGNORE_RULES_H_
