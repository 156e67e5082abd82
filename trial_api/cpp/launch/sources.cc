#include "trial_api/cpp/launch/sources.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "trial_api/cpp/core/error.h"

namespace det::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kSources = {".cc", ".cpp", ".cxx", ".c"};
constexpr std::array<std::string_view, 6> kHeaders = {".h", ".hh", ".hpp", ".hxx", ".inl", ".inc"};

template <size_t n>
bool HasEnding(const fs::path& path, const std::array<std::string_view, n>& endings) {
  return std::ranges::find(endings, path.extension().string()) != endings.end();
}

// Returns the paths in the directives #include "..." of a file, as written.
std::vector<std::string> ReadQuotedIncludes(const fs::path& file) {
  const absl::StatusOr<std::string> text = base::ReadFile(file);
  if (!text.ok()) throw Error(std::string(text.status().message()));
  std::vector<std::string> names;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "#")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "include")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "\"")) continue;
    names.emplace_back(line.substr(0, line.find('"')));
  }
  return names;
}

// Follows includes, in the order in which the compiler searches. Follows each header also to the
// source file of the same name beside it, its paired source.
class IncludeWalk {
 public:
  IncludeWalk(fs::path context_dir, const fs::path& source)
      : context_dir_(std::move(context_dir)), source_dir_(source.parent_path()) {
    Visit(source.lexically_normal());
    included_.insert(source.lexically_normal());
  }

  std::vector<std::string> GetPairedSources() const {
    std::vector<std::string> sources;
    for (const fs::path& path : paired_) {
      if (!included_.contains(path)) sources.push_back(path.string());
    }
    return sources;
  }

 private:
  void Visit(const fs::path& file) {
    if (!visited_.insert(file).second) return;
    for (const std::string& name : ReadQuotedIncludes(context_dir_ / file)) {
      const std::optional<fs::path> found = Find(name, file.parent_path());
      if (!found) continue;
      included_.insert(*found);
      Visit(*found);
      if (HasEnding(*found, kHeaders)) VisitPair(*found);
    }
  }

  void VisitPair(fs::path header) {
    for (const std::string_view ending : kSources) {
      header.replace_extension(ending);
      if (!fs::is_regular_file(context_dir_ / header)) continue;
      paired_.insert(header);
      return Visit(header);
    }
  }

  // Returns nothing for headers elsewhere, such as those of the Trial API.
  std::optional<fs::path> Find(const std::string& name, const fs::path& includer_dir) const {
    for (const fs::path& dir : {includer_dir, fs::path(), source_dir_}) {
      const fs::path path = (dir / name).lexically_normal();
      if (path.is_absolute() || absl::StartsWith(path.string(), "..")) continue;
      if (fs::is_regular_file(context_dir_ / path)) return path;
    }
    return std::nullopt;
  }

  const fs::path context_dir_;
  const fs::path source_dir_;
  std::set<fs::path> visited_;
  std::set<fs::path> included_;
  std::set<fs::path> paired_;
};

}  // namespace

std::vector<std::string> CodeFiles(const std::string& context_dir) {
  std::vector<std::string> files;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(context_dir, options), end; it != end; ++it) {
    // Hidden directories, such as those of version control, contain no code of the trial.
    if (it->is_directory() && absl::StartsWith(it->path().filename().string(), ".")) {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file()) continue;
    if (HasEnding(it->path(), kSources) || HasEnding(it->path(), kHeaders)) {
      files.push_back(fs::relative(it->path(), context_dir).string());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> PairedSources(const std::string& context_dir, const std::string& source) {
  return IncludeWalk(context_dir, source).GetPairedSources();
}

}  // namespace det::launch
