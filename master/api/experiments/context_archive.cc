#include "master/api/experiments/context_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "master/auth/tokens.h"

namespace det::api {
namespace {

using v1::File;

// Values of File.type, as in a tar header.
constexpr int kRegular = '0';
constexpr int kLink = '2';
constexpr int kDirectory = '5';

using Entries = std::map<std::string, const File*>;

// Returns `path` without "." and "..", or an error if it leaves the context directory.
absl::StatusOr<std::string> Resolve(absl::string_view path) {
  std::vector<std::string> parts;
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (parts.empty()) return absl::InvalidArgumentError("leaves the context directory");
      parts.pop_back();
    } else {
      parts.emplace_back(part);
    }
  }
  if (parts.size() > kContextDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat(parts.size(), " path components; the limit is ", kContextDepth));
  }
  return absl::StrJoin(parts, "/");
}

absl::Status CheckLink(const std::string& path, const std::string& target) {
  // C functions would read only the bytes before it, which is a different target.
  if (target.find('\0') != target.npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("context: symbolic link ", path, ": the target contains a NUL byte"));
  }
  if (base::LinkStaysInside(path, target)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("context: symbolic link ", path, " -> ", target,
                   " leaves the context directory; copy the file into it, or exclude the link in "
                   ".detignore"));
}

// Only directories may contain entries: extraction would follow a symbolic link.
absl::Status CheckParents(const Entries& entries) {
  for (const auto& [path, file] : entries) {
    for (size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      const auto parent = entries.find(path.substr(0, slash));
      if (parent != entries.end() && parent->second->type() != kDirectory) {
        return absl::InvalidArgumentError(
            absl::StrCat("context: ", path, ": ", parent->first, " is not a directory"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSize(const Entries& entries) {
  int64_t total = 0;
  std::pair<int64_t, std::string> largest;
  for (const auto& [path, file] : entries) {
    const auto size = static_cast<int64_t>(file->content().size());
    total += size;
    largest = std::max(largest, {size, path});
  }
  if (total <= kContextLimit) return absl::OkStatus();
  const auto mib = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  return absl::InvalidArgumentError(
      absl::StrFormat("context: %.1f MiB in total; the limit is %.0f MiB; the largest file is %s "
                      "(%.1f MiB); exclude "
                      "large files in .detignore",
                      mib(total), mib(kContextLimit), largest.second, mib(largest.first)));
}

absl::StatusOr<Entries> CheckFiles(const google::protobuf::RepeatedPtrField<File>& files) {
  Entries entries;
  for (const File& file : files) {
    DET_ASSIGN_OR_RETURN(const std::string path, NormalizeContextPath(file.path()));
    if (path.empty()) continue;  // the context directory itself
    const int type = file.type();
    if (type != 0 && type != kRegular && type != kLink && type != kDirectory) {
      return absl::InvalidArgumentError(
          absl::StrCat("context: ", path, " is not a file, directory or symbolic link"));
    }
    if (type == kLink) DET_RETURN_IF_ERROR(CheckLink(path, file.content()));
    if (!entries.emplace(path, &file).second) {
      return absl::InvalidArgumentError(absl::StrCat("context: duplicate path ", path));
    }
  }
  DET_RETURN_IF_ERROR(CheckParents(entries));
  DET_RETURN_IF_ERROR(CheckSize(entries));
  return entries;
}

la_ssize_t Append(archive*, void* out, const void* bytes, size_t size) {
  static_cast<std::string*>(out)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

bool WriteEntry(archive* writer, const std::string& path, const File& file) {
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                            archive_entry_free);
  archive_entry_set_pathname(entry.get(), path.c_str());
  // Times, owners and groups are left out: they differ between copies of the same directory.
  archive_entry_set_mtime(entry.get(), 0, 0);
  const bool executable = (file.mode() & 0111) != 0;
  if (file.type() == kDirectory) {
    archive_entry_set_filetype(entry.get(), AE_IFDIR);
    archive_entry_set_perm(entry.get(), 0755);
  } else if (file.type() == kLink) {
    archive_entry_set_filetype(entry.get(), AE_IFLNK);
    archive_entry_set_symlink(entry.get(), file.content().c_str());
    archive_entry_set_perm(entry.get(), 0777);
  } else {
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), executable ? 0755 : 0644);
    archive_entry_set_size(entry.get(), static_cast<int64_t>(file.content().size()));
  }
  // libarchive warns about names that are not ASCII, because it cannot convert them without a
  // locale. It writes their bytes unchanged, which are UTF-8 already.
  if (archive_write_header(writer, entry.get()) < ARCHIVE_WARN) return false;
  if (file.type() == kDirectory || file.type() == kLink || file.content().empty()) return true;
  return archive_write_data(writer, file.content().data(), file.content().size()) ==
         static_cast<la_ssize_t>(file.content().size());
}

}  // namespace

absl::StatusOr<std::string> NormalizeContextPath(std::string_view path) {
  const absl::string_view text(path.data(), path.size());
  if (path.size() > kContextPathLimit) {
    return absl::InvalidArgumentError(absl::StrCat("context: path ", text.substr(0, 100),
                                                   "...: ", path.size(), " bytes; the limit is ",
                                                   kContextPathLimit));
  }
  if (path.empty() || path.front() == '/' || path.find('\0') != std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("context: \"", text, "\" is not a relative path"));
  }
  absl::StatusOr<std::string> normal = Resolve(text);
  if (normal.ok()) return normal;
  return absl::InvalidArgumentError(
      absl::StrCat("context: path ", text, ": ", normal.status().message()));
}

absl::StatusOr<ContextArchive> PackContext(
    const google::protobuf::RepeatedPtrField<v1::File>& files) {
  DET_ASSIGN_OR_RETURN(const Entries entries, CheckFiles(files));
  ContextArchive context;
  if (entries.empty()) return context;
  const std::unique_ptr<archive, decltype(&archive_write_free)> writer(archive_write_new(),
                                                                       archive_write_free);
  bool ok =
      archive_write_set_format_pax_restricted(writer.get()) == ARCHIVE_OK &&
      archive_write_add_filter_gzip(writer.get()) == ARCHIVE_OK &&
      archive_write_set_filter_option(writer.get(), "gzip", "compression-level", "3") ==
          ARCHIVE_OK &&
      archive_write_set_filter_option(writer.get(), "gzip", "timestamp", nullptr) == ARCHIVE_OK &&
      archive_write_open(writer.get(), &context.tgz, nullptr, Append, nullptr) == ARCHIVE_OK;
  for (auto it = entries.begin(); ok && it != entries.end(); ++it) {
    ok = WriteEntry(writer.get(), it->first, *it->second);
    if (it->second->type() != kDirectory) context.files.insert(it->first);
  }
  if (!ok || archive_write_close(writer.get()) != ARCHIVE_OK) {
    const char* reason = archive_error_string(writer.get());
    return absl::InternalError(absl::StrCat("cannot pack the context directory: ",
                                            reason == nullptr ? "unknown error" : reason));
  }
  context.hash = auth::Sha256Hex(context.tgz);
  return context;
}

}  // namespace det::api
