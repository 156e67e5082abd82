// Which files of a context directory are left out: a part of what .gitignore files can say.
// Called by context_dir. Does no I/O.
//
// A line of .detignore: blank and #comment are skipped; `*` and `?` match within a name, `**`
// across folders, [abc] one of some characters; a `/` at the start or in the middle ties the
// pattern to the top folder; a `/` at the end matches folders only; `!` takes a file back in. The
// last line that matches decides. A file in a folder that is left out cannot be taken back.
#ifndef CLI_IGNORE_H_
#define CLI_IGNORE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace det::cli {

class IgnoreRules {
 public:
  // What no context needs: .git, __pycache__, *.pyc, .DS_Store, .ipynb_checkpoints, bazel-*.
  static IgnoreRules BuiltIn();

  // Adds the lines of a .detignore file, which decide before those that are there.
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

#endif  // CLI_IGNORE_H_
