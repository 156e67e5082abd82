#include "trial_api/cpp/storage/manifest.h"

#include <set>
#include <system_error>
#include <utility>

#include "trial_api/cpp/core/error.h"
#include <nlohmann/json.hpp>

namespace det::storage {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

}  // namespace

FileRecord Describe(const fs::path& root, const fs::path& file) {
  return {fs::relative(file, root).string(), static_cast<int64_t>(fs::file_size(file)),
          ComputeFileSha256(file.string())};
}

FileRecord DescribeText(const std::string& name, const std::string& text) {
  return {name, static_cast<int64_t>(text.size()), ComputeTextSha256(text)};
}

std::vector<FileRecord> DescribeAll(const fs::path& root) {
  std::vector<FileRecord> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_directory()) continue;
    if (entry.is_symlink() || !entry.is_regular_file()) {
      throw Error("checkpoint file " + entry.path().string() + " is not a regular file");
    }
    files.push_back(Describe(root, entry.path()));
  }
  return files;
}

std::string ManifestText(const std::string& owner, const std::vector<FileRecord>& files) {
  Json list = Json::array();
  for (const FileRecord& file : files) {
    list.push_back({{"path", file.path}, {"size", file.size}, {"sha256", file.sha256}});
  }
  return Json{{"owner", owner}, {"files", std::move(list)}}.dump(1) + "\n";
}

Manifest ParseManifest(const std::string& where, const std::string& text) {
  try {
    const Json json = Json::parse(text);
    Manifest manifest;
    manifest.owner = json.value("owner", "");
    for (const Json& file : json.at("files")) {
      manifest.files.push_back({file.at("path"), file.at("size"), file.at("sha256")});
    }
    return manifest;
  } catch (const Json::exception&) {
    throw Error(where + " is damaged: not a valid manifest; use another checkpoint");
  }
}

void RejectDuplicates(const std::vector<std::vector<FileRecord>>& by_rank) {
  std::set<std::string> names = {kMetadata, kManifest};
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    for (const FileRecord& file : by_rank[rank]) {
      if (names.insert(file.path).second) continue;
      throw Error(
          "checkpoint file '" + file.path + "' of rank " + std::to_string(rank) +
          " has the same name as a file of another rank; use different file names on each rank");
    }
  }
}

void Verify(const std::string& uuid, const fs::path& dir, const FileRecord& file) {
  const fs::path path = dir / file.path;
  const std::string where = "checkpoint " + uuid + ": file " + path.string();
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) throw Error(where + " is missing; use another checkpoint");
  if (static_cast<int64_t>(size) != file.size || ComputeFileSha256(path.string()) != file.sha256) {
    throw Error(
        where +
        " is damaged: its size or SHA-256 differs from the manifest; use another checkpoint");
  }
}

}  // namespace det::storage
