// Fuzzes context directories sent by clients: the agent must unpack every context that the master
// packs.
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "agent/driver/unpack.h"
#include "base/utf8.h"
#include "master/api/experiments/context_archive.h"
#include "master/api/experiments/context_files.h"
#include "tests/fuzz/folder.h"

namespace fs = std::filesystem;

namespace {

using Files = google::protobuf::RepeatedPtrField<det::api::v1::File>;

// Parses one file per line: the letter of the type, the path, a tab, the content.
Files Read(std::string_view text) {
  Files files;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    if (line.empty()) continue;
    const size_t tab = std::min(line.find('\t'), line.size());
    det::api::v1::File& file = *files.Add();
    file.set_type(line[0] == 'x' ? 0 : line[0]);
    file.set_path(std::string(line.substr(1, tab > 0 ? tab - 1 : 0)));
    file.set_content(std::string(line.substr(std::min(tab + 1, line.size()))));
  }
  return files;
}

// Whether a file system can store the paths; if not, only the agent rejects them.
bool FitFileSystem(const std::set<std::string>& paths) {
  return std::all_of(paths.begin(), paths.end(), [](const std::string& path) {
    const std::vector<std::string> parts = absl::StrSplit(path, '/');
    return path.size() < 3000 && std::all_of(parts.begin(), parts.end(),
                                             [](const auto& part) { return part.size() <= 255; });
  });
}

std::set<std::string> GetPaths(const Files& files) {
  std::set<std::string> paths;
  for (const det::api::v1::File& file : files) {
    const auto path = det::api::NormalizeContextPath(file.path());
    if (path.ok()) paths.insert(*path);
    // The target of a link has the same limits.
    if (file.type() == '2') paths.insert(file.content());
  }
  return paths;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!det::base::IsUtf8(text)) return 0;  // JSON and protobuf strings are always UTF-8.
  const Files files = Read(text);
  const auto context = det::api::PackContext(files);
  if (!context.ok()) {
    fuzz::Check(absl::IsInvalidArgument(context.status()), context.status().ToString());
    return 0;
  }
  if (context->tgz.empty()) return 0;
  const auto listed = det::api::ListContext(context->tgz);
  fuzz::Check(listed.ok(), "packed, but not listed: " + listed.status().ToString());
  const fs::path folder = fuzz::UnpackFolder();
  fs::create_directories(folder);
  const absl::Status status = det::agent::Unpack(fuzz::MakeFile(context->tgz), folder.string());
  fuzz::Check(status.ok() || !FitFileSystem(GetPaths(files)),
              "packed, but not unpacked: " + status.ToString());
  if (status.ok()) {
    fuzz::CheckInside(folder);
    for (const std::string& path : context->files) {
      struct stat info {};
      fuzz::Check(::lstat((folder / path).c_str(), &info) == 0, "missing: " + path);
    }
  }
  fs::remove_all(folder);
  return 0;
}
