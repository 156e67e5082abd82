#include "cli/ignore_rules.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace det::cli {
namespace {

// Matches `c` against the set at the start of `pattern` ("[a-z]..."). Returns the length of the
// set; 0 if there is no set.
size_t MatchSet(absl::string_view pattern, char c, bool* matched) {
  const size_t end = pattern.find(']', 2);
  if (end == pattern.npos) return 0;
  absl::string_view set = pattern.substr(1, end - 1);
  const bool negated = absl::ConsumePrefix(&set, "!") || absl::ConsumePrefix(&set, "^");
  bool found = false;
  for (size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      found = found || (set[i] <= c && c <= set[i + 2]);
      i += 2;
    } else {
      found = found || set[i] == c;
    }
  }
  *matched = found != negated && c != '/';
  return end + 1;
}

bool Matches(absl::string_view pattern, absl::string_view path) {
  while (!pattern.empty()) {
    if (absl::StartsWith(pattern, "**")) {
      pattern.remove_prefix(2);
      // "a/**/b" also matches "a/b".
      if (absl::StartsWith(pattern, "/") && Matches(pattern.substr(1), path)) return true;
      for (size_t i = 0; i <= path.size(); ++i) {
        if (Matches(pattern, path.substr(i))) return true;
      }
      return false;
    }
    if (pattern[0] == '*') {
      for (size_t i = 0; i <= path.size(); ++i) {
        if (Matches(pattern.substr(1), path.substr(i))) return true;
        if (i < path.size() && path[i] == '/') return false;
      }
      return false;
    }
    if (path.empty()) return false;
    bool matched = pattern[0] == path[0];
    size_t length = 1;
    if (pattern[0] == '?') {
      matched = path[0] != '/';
    } else if (pattern[0] == '[') {
      const size_t set = MatchSet(pattern, path[0], &matched);
      if (set > 0) length = set;
    } else if (pattern[0] == '\\' && pattern.size() > 1) {
      matched = pattern[1] == path[0];
      length = 2;
    }
    if (!matched) return false;
    pattern.remove_prefix(length);
    path.remove_prefix(1);
  }
  return path.empty();
}

}  // namespace

IgnoreRules IgnoreRules::BuiltIn() {
  IgnoreRules rules;
  rules.Add(".git\n__pycache__/\n*.pyc\n.DS_Store\n.ipynb_checkpoints/\n/bazel-*\n");
  return rules;
}

void IgnoreRules::Add(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    Rule rule;
    rule.negated = absl::ConsumePrefix(&line, "!");
    rule.directories_only = absl::ConsumeSuffix(&line, "/");
    rule.anchored = line.find('/') != line.npos;
    absl::ConsumePrefix(&line, "/");
    rule.pattern = std::string(line);
    if (!line.empty()) rules_.push_back(std::move(rule));
  }
}

bool IgnoreRules::Ignores(absl::string_view path, bool is_directory) const {
  const absl::string_view name = path.substr(path.rfind('/') + 1);
  bool ignored = false;
  for (const Rule& rule : rules_) {
    if (rule.directories_only && !is_directory) continue;
    if (Matches(rule.pattern, rule.anchored ? path : name)) ignored = !rule.negated;
  }
  return ignored;
}

}  // namespace det::cli
