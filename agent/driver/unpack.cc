#include "agent/driver/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace det::agent {
namespace {

using Reader = std::unique_ptr<archive, int (*)(archive*)>;
using Writer = std::unique_ptr<archive, int (*)(archive*)>;

// Returns whether `path` is the directory itself: "." or "./".
bool IsUnpackDirectory(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  return std::all_of(parts.begin(), parts.end(),
                     [](absl::string_view part) { return part.empty() || part == "."; });
}

absl::Status CheckEntry(archive_entry* entry) {
  const char* path = archive_entry_pathname(entry);
  if (path == nullptr || !StaysInside(path)) {
    return absl::InvalidArgumentError(absl::StrCat("the context contains the path ",
                                                   path == nullptr ? "(unreadable)" : path,
                                                   ", which is outside its directory"));
  }
  const auto type = archive_entry_filetype(entry);
  const char* hard = archive_entry_hardlink(entry);
  if (IsUnpackDirectory(path) && (hard != nullptr || type != AE_IFDIR)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the context contains ", path, ", which is not a directory"));
  }
  if (hard != nullptr && !StaysInside(hard)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the context's link ", path, " points to ", hard, ", outside its directory"));
  }
  const char* soft = archive_entry_symlink(entry);
  if (type == AE_IFLNK && (soft == nullptr || !base::LinkStaysInside(path, soft))) {
    return absl::InvalidArgumentError(absl::StrCat("the context's symbolic link ", path,
                                                   " points to ", soft == nullptr ? "" : soft,
                                                   ", outside its directory"));
  }
  if (hard == nullptr && type != AE_IFLNK && type != AE_IFREG && type != AE_IFDIR) {
    return absl::InvalidArgumentError(
        absl::StrCat("the context contains ", path, ", which is not a file, directory or link"));
  }
  return absl::OkStatus();
}

absl::Status Failure(archive* from, absl::string_view operation) {
  const char* text = archive_error_string(from);
  return absl::DataLossError(
      absl::StrCat("cannot ", operation, ": ", text == nullptr ? "unknown error" : text));
}

absl::Status CopyContent(archive* reader, archive* writer) {
  while (true) {
    const void* block = nullptr;
    size_t size = 0;
    la_int64_t offset = 0;
    const int got = archive_read_data_block(reader, &block, &size, &offset);
    if (got == ARCHIVE_EOF) return absl::OkStatus();
    if (got < ARCHIVE_WARN) return Failure(reader, "read the context's archive");
    if (archive_write_data_block(writer, block, size, offset) < ARCHIVE_WARN) {
      return Failure(writer, "unpack the context");
    }
  }
}

absl::Status CopyEntry(archive* reader, archive* writer, archive_entry* entry,
                       const std::string& dir) {
  DET_RETURN_IF_ERROR(CheckEntry(entry));
  archive_entry_copy_pathname(entry, absl::StrCat(dir, "/", archive_entry_pathname(entry)).c_str());
  if (const char* hard = archive_entry_hardlink(entry); hard != nullptr) {
    archive_entry_copy_hardlink(entry, absl::StrCat(dir, "/", hard).c_str());
  }
  // The task must be able to read, change and remove its copy.
  const bool folder = archive_entry_filetype(entry) == AE_IFDIR;
  archive_entry_set_perm(entry, (archive_entry_perm(entry) & 0755) | (folder ? 0700 : 0600));
  if (archive_write_header(writer, entry) < ARCHIVE_WARN) {
    return Failure(writer, "unpack the context");
  }
  if (archive_entry_size(entry) > 0) DET_RETURN_IF_ERROR(CopyContent(reader, writer));
  if (archive_write_finish_entry(writer) < ARCHIVE_WARN) {
    return Failure(writer, "unpack the context");
  }
  return absl::OkStatus();
}

}  // namespace

bool StaysInside(absl::string_view path) {
  if (path.empty() || path[0] == '/' || absl::StrContains(path, absl::string_view("\0", 1))) {
    return false;
  }
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part == "..") return false;
  }
  return true;
}

absl::Status Unpack(base::Fd file, const std::string& dir) {
  // libarchive rejects symbolic links in the path of an entry; those above `dir` are resolved here.
  char real[PATH_MAX];
  if (::realpath(dir.c_str(), real) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot unpack into ", dir));
  }
  const Reader reader(archive_read_new(), archive_read_free);
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_format_tar(reader.get());
  archive_read_support_format_gnutar(reader.get());
  const Writer writer(archive_write_disk_new(), archive_write_free);
  archive_write_disk_set_options(writer.get(), ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
                                                   ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                                                   ARCHIVE_EXTRACT_SECURE_NODOTDOT);
  if (archive_read_open_fd(reader.get(), file.get(), 64 * 1024) != ARCHIVE_OK) {
    return Failure(reader.get(), "read the context's archive");
  }
  while (true) {
    archive_entry* entry = nullptr;
    const int got = archive_read_next_header(reader.get(), &entry);
    if (got == ARCHIVE_EOF) break;
    if (got < ARCHIVE_WARN) return Failure(reader.get(), "read the context's archive");
    DET_RETURN_IF_ERROR(CopyEntry(reader.get(), writer.get(), entry, real));
  }
  // Closing sets the final permissions and times of directories.
  if (archive_write_close(writer.get()) < ARCHIVE_WARN) {
    return Failure(writer.get(), "unpack the context");
  }
  return absl::OkStatus();
}

absl::Status WriteRunFiles(const std::vector<RunFile>& files, const std::string& dir) {
  for (const RunFile& file : files) {
    if (!StaysInside(file.path) || file.path.back() == '/') {
      return absl::InvalidArgumentError(
          absl::StrCat("the task's file ", file.path, " is outside its run directory"));
    }
    const std::string path = absl::StrCat(dir, "/", file.path);
    DET_RETURN_IF_ERROR(base::MakeDirs(path.substr(0, path.rfind('/'))));
    DET_RETURN_IF_ERROR(
        base::WriteFile(path, file.content, file.mode == 0 ? 0600 : file.mode & 0777));
  }
  return absl::OkStatus();
}

}  // namespace det::agent
