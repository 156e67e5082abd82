#include "master/api/experiments/context_files.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "master/api/experiments/context_archive.h"

namespace det::api {
namespace {

using Kind = ContextFile::Kind;
constexpr int kMaxLinks = 40;  // symbolic links that are followed for one path

absl::Status MakeReadError(absl::string_view reason) {
  return absl::InternalError(absl::StrCat("cannot read the stored context directory: ", reason));
}

absl::Status MakeReadError(archive* reader) {
  const char* reason = archive_error_string(reader);
  return MakeReadError(reason == nullptr ? "unknown error" : reason);
}

// Reads the data of the current entry, at most `limit` bytes.
absl::StatusOr<std::string> ReadData(archive* reader, int64_t limit) {
  std::string data;
  std::array<char, 64 << 10> part{};
  for (;;) {
    const la_ssize_t got = archive_read_data(reader, part.data(), part.size());
    if (got < 0) return MakeReadError(reader);
    if (got == 0) return data;
    if (static_cast<int64_t>(data.size()) + got > limit) {
      return MakeReadError(absl::StrCat("it contains more than ", kContextLimit >> 20, " MiB"));
    }
    data.append(part.data(), static_cast<size_t>(got));
  }
}

absl::StatusOr<ContextFile> ToFile(archive_entry* entry) {
  ContextFile file;
  const char* path = archive_entry_pathname(entry);
  absl::StatusOr<std::string> normal = NormalizeContextPath(path == nullptr ? "" : path);
  if (!normal.ok()) return MakeReadError(normal.status().message());
  file.path = *std::move(normal);
  if (archive_entry_filetype(entry) == AE_IFDIR) file.kind = Kind::kFolder;
  if (archive_entry_filetype(entry) == AE_IFLNK) {
    file.kind = Kind::kLink;
    const char* target = archive_entry_symlink(entry);
    file.target = target == nullptr ? "" : target;
  }
  return file;
}

// Calls `visit` with each entry and its content until it returns false.
absl::Status ForEach(std::string_view tgz,
                     const std::function<bool(ContextFile file, std::string data)>& visit) {
  if (tgz.empty()) return absl::OkStatus();  // a context directory without files
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(),
                                                                      archive_read_free);
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_format_tar(reader.get());
  if (archive_read_open_memory(reader.get(), tgz.data(), tgz.size()) != ARCHIVE_OK) {
    return MakeReadError(reader.get());
  }
  int64_t left = kContextLimit;
  for (;;) {
    archive_entry* entry = nullptr;
    const int read = archive_read_next_header(reader.get(), &entry);
    if (read == ARCHIVE_EOF) return absl::OkStatus();
    // libarchive warns about names that are not ASCII; see WriteEntry() in context_archive.cc.
    if (read < ARCHIVE_WARN) return MakeReadError(reader.get());
    DET_ASSIGN_OR_RETURN(ContextFile file, ToFile(entry));
    DET_ASSIGN_OR_RETURN(std::string data, ReadData(reader.get(), left));
    file.size = static_cast<int64_t>(data.size());
    left -= file.size;
    if (!visit(std::move(file), std::move(data))) return absl::OkStatus();
  }
}

// With this key, the entries of a directory are sorted directly after it.
std::string SortKey(std::string path) {
  std::replace(path.begin(), path.end(), '/', '\0');
  return path;
}

using Links = std::map<std::string, std::string, std::less<>>;

// Replaces the first symbolic link in `path` by its target. Returns `path` if it contains no link.
absl::StatusOr<std::string> ResolveFirstLink(const Links& links, const std::string& path) {
  if (links.empty()) return path;
  for (size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    const auto link = links.find(path.substr(0, end));
    if (link == links.end()) continue;
    const size_t slash = link->first.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : link->first.substr(0, slash + 1);
    // Rejects an absolute target, which would become a relative path behind `folder`.
    if (link->second.starts_with('/')) return NormalizeContextPath(link->second);
    return NormalizeContextPath(absl::StrCat(folder, link->second, path.substr(end)));
  }
  return path;
}

absl::StatusOr<std::string> ResolveLinks(const Links& links, std::string path) {
  for (int i = 0; i < kMaxLinks; ++i) {
    DET_ASSIGN_OR_RETURN(std::string next, ResolveFirstLink(links, path));
    if (next == path) return path;
    path = std::move(next);
  }
  return absl::InvalidArgumentError(absl::StrCat("context: too many symbolic links at ", path));
}

}  // namespace

absl::StatusOr<std::vector<ContextFile>> ListContext(std::string_view tgz) {
  std::vector<ContextFile> files;
  DET_RETURN_IF_ERROR(ForEach(tgz, [&files](ContextFile file, const std::string& data) {
    file.text = file.kind == Kind::kFile && IsText(data);
    if (!file.path.empty()) files.push_back(std::move(file));
    return true;
  }));
  std::sort(files.begin(), files.end(), [](const ContextFile& a, const ContextFile& b) {
    return SortKey(a.path) < SortKey(b.path);
  });
  return files;
}

absl::StatusOr<std::string> ReadContextFile(std::string_view tgz, std::string_view path) {
  DET_ASSIGN_OR_RETURN(const std::string requested, NormalizeContextPath(path));
  DET_ASSIGN_OR_RETURN(const std::vector<ContextFile> files, ListContext(tgz));
  Links links;
  for (const ContextFile& file : files) {
    if (file.kind == Kind::kLink) links[file.path] = file.target;
  }
  DET_ASSIGN_OR_RETURN(const std::string target, ResolveLinks(links, requested));
  bool is_folder = target.empty();
  std::string found;
  bool exists = false;
  for (const ContextFile& file : files) {
    if (file.path == target) exists = file.kind == Kind::kFile;
    is_folder |= file.path == target && file.kind == Kind::kFolder;
    is_folder |= file.path.starts_with(absl::StrCat(target, "/"));
  }
  if (is_folder) {
    return absl::InvalidArgumentError(absl::StrCat("context: ", requested, " is a directory"));
  }
  if (!exists) {
    return absl::NotFoundError(absl::StrCat("context: file ", requested, " not found"));
  }
  DET_RETURN_IF_ERROR(ForEach(tgz, [&](const ContextFile& file, std::string data) {
    if (file.path != target) return true;
    found = std::move(data);
    return false;
  }));
  return found;
}

bool IsText(std::string_view data) { return data.find('\0') == data.npos && base::IsUtf8(data); }

}  // namespace det::api
