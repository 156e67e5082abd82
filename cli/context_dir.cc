#include "cli/context_dir.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/format.h"
#include "cli/ignore_rules.h"
#include "cli/json_text.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;

class Reader {
 public:
  Reader(std::string root, int64_t limit)
      : root_(std::move(root)), limit_(limit), rules_(IgnoreRules::BuiltIn()) {}

  absl::StatusOr<std::vector<ContextEntry>> Read() {
    struct stat info = {};
    if (stat(root_.c_str(), &info) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("context directory ", root_, ": ", strerror(errno)));
    }
    if (!S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat("context directory ", root_, " is not a directory"));
    }
    const auto ignore = base::ReadFile(absl::StrCat(root_, "/.detignore"));
    if (ignore.ok()) rules_.Add(*ignore);
    DET_RETURN_IF_ERROR(Walk(""));
    if (total_ > limit_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "context directory ", root_, " holds ", FormatBytes(total_), ", over the limit of ",
          FormatBytes(limit_), "; its largest file is ", largest_, " (", FormatBytes(largest_size_),
          "): exclude files that trials do not need with a .detignore file"));
    }
    std::sort(entries_.begin(), entries_.end(),
              [](const ContextEntry& a, const ContextEntry& b) { return a.path < b.path; });
    return std::move(entries_);
  }

 private:
  absl::Status Walk(const std::string& folder) {
    std::error_code error;
    fs::directory_iterator each(absl::StrCat(root_, "/", folder), error);
    for (; !error && each != fs::directory_iterator(); each.increment(error)) {
      const std::string name = each->path().filename().string();
      DET_RETURN_IF_ERROR(Take(folder.empty() ? name : absl::StrCat(folder, "/", name)));
    }
    if (!error) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("context directory ", root_, ": cannot read ",
                                                   folder.empty() ? "it" : folder, ": ",
                                                   error.message()));
  }

  absl::Status Take(const std::string& path) {
    const std::string full = absl::StrCat(root_, "/", path);
    struct stat info = {};
    if (lstat(full.c_str(), &info) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("context directory ", root_, ": ", path, ": ", strerror(errno)));
    }
    if (rules_.Ignores(path, S_ISDIR(info.st_mode))) return absl::OkStatus();
    DET_RETURN_IF_ERROR(CheckName(path, path));
    ContextEntry entry;
    entry.path = path;
    entry.mtime = info.st_mtime;
    entry.mode = info.st_mode & 07777;
    if (S_ISDIR(info.st_mode)) {
      entry.kind = ContextEntry::Kind::kDirectory;
      entries_.push_back(std::move(entry));
      return Walk(path);
    }
    if (S_ISLNK(info.st_mode)) return TakeLink(full, std::move(entry));
    if (!S_ISREG(info.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "context directory ", root_, ": ", path,
          " is not a file, directory or symbolic link; remove it or add it to .detignore"));
    }
    return TakeFile(full, info.st_size, std::move(entry));
  }

  // Names in the API are UTF-8; other bytes could not be transmitted.
  absl::Status CheckName(const std::string& path, const std::string& name) const {
    if (IsUtf8(name)) return absl::OkStatus();
    const bool target = path != name;
    return absl::InvalidArgumentError(absl::StrCat(
        "context directory ", root_, ": ", target ? "the target of the link " : "the name ",
        EscapeInvalidUtf8(path), target ? absl::StrCat(", ", EscapeInvalidUtf8(name), ",") : "",
        " is not UTF-8; rename it or exclude it with a .detignore file"));
  }

  absl::Status TakeLink(const std::string& full, ContextEntry entry) {
    std::error_code error;
    entry.kind = ContextEntry::Kind::kLink;
    entry.content = fs::read_symlink(full, error).string();
    DET_RETURN_IF_ERROR(CheckName(entry.path, entry.content));
    if (!base::LinkStaysInside(entry.path, entry.content)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "context directory ", root_, ": the link ", entry.path, " points outside of it (to ",
          entry.content, "); copy the file into the directory or add the link to .detignore"));
    }
    entries_.push_back(std::move(entry));
    return absl::OkStatus();
  }

  absl::Status TakeFile(const std::string& full, int64_t size, ContextEntry entry) {
    total_ += size;
    if (size > largest_size_) {
      largest_size_ = size;
      largest_ = entry.path;
    }
    // Beyond the limit only the sizes are needed.
    if (total_ > limit_) return absl::OkStatus();
    absl::StatusOr<std::string> content = base::ReadFile(full);
    if (!content.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("context directory ", root_, ": ", content.status().message()));
    }
    entry.content = *std::move(content);
    entries_.push_back(std::move(entry));
    return absl::OkStatus();
  }

  const std::string root_;
  const int64_t limit_;
  IgnoreRules rules_;
  std::vector<ContextEntry> entries_;
  int64_t total_ = 0;
  int64_t largest_size_ = -1;
  std::string largest_;
};

}  // namespace

absl::StatusOr<std::vector<ContextEntry>> ReadContextDir(const std::string& directory,
                                                         int64_t limit) {
  std::string root = directory;
  while (root.size() > 1 && absl::EndsWith(root, "/")) root.pop_back();
  return Reader(std::move(root), limit).Read();
}

absl::Status IncludeInContext(const std::string& path, std::vector<ContextEntry>* entries) {
  std::error_code error;
  // The canonical path also has a name for "." and "folder/".
  const fs::path whole = fs::canonical(path, error);
  const std::string name = whole.filename().string();
  if (error || name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--include ", path, ": ", error ? error.message() : "the path has no file name"));
  }
  if (!IsUtf8(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--include: the name ", EscapeInvalidUtf8(name), " is not UTF-8; rename it"));
  }
  std::vector<ContextEntry> added(1);
  added[0].path = name;
  struct stat info = {};
  if (stat(whole.c_str(), &info) == 0) {
    added[0].mtime = info.st_mtime;
    added[0].mode = info.st_mode & 07777;
  }
  if (fs::is_directory(whole, error)) {
    added[0].kind = ContextEntry::Kind::kDirectory;
    DET_ASSIGN_OR_RETURN(std::vector<ContextEntry> within, ReadContextDir(whole.string()));
    for (ContextEntry& entry : within) {
      entry.path = absl::StrCat(name, "/", entry.path);
      added.push_back(std::move(entry));
    }
  } else {
    absl::StatusOr<std::string> content = base::ReadFile(whole.string());
    if (!content.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--include ", path, ": ", content.status().message()));
    }
    added[0].content = *std::move(content);
  }
  for (ContextEntry& entry : added) {
    const bool taken = std::any_of(entries->begin(), entries->end(),
                                   [&](const ContextEntry& e) { return e.path == entry.path; });
    if (taken) {
      return absl::InvalidArgumentError(
          absl::StrCat("--include ", path, ": ", entry.path, " is a duplicate path"));
    }
  }
  for (ContextEntry& entry : added) entries->push_back(std::move(entry));
  return absl::OkStatus();
}

}  // namespace det::cli
