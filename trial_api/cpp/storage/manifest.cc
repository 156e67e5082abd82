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
          Sha256OfFile(file.string())};
}

FileRecord DescribeText(const std::string& name, const std::string& text) {
  return {name, static_cast<int64_t>(text.size()), Sha256OfText(text)};
}

std::vector<FileRecord> DescribeAll(const fs::path& root) {
  std::vector<FileRecord> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_directory()) continue;
    if (entry.is_symlink() || !entry.is_regular_file()) {
      throw Error("checkpoint file " + entry.path().string() + " is no regular file");
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
    throw Error(where + " is damaged: it is no manifest; use another checkpoint");
  }
}

void RefuseDuplicates(const std::vector<std::vector<FileRecord>>& by_rank) {
  std::set<std::string> names = {kMetadata, kManifest};
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    for (const FileRecord& file : by_rank[rank]) {
      if (names.insert(file.path).second) continue;
      throw Error("checkpoint file '" + file.path + "' of rank " + std::to_string(rank) +
                  " has a name that is taken; give each rank's files names of their own");
    }
  }
}

void Verify(const std::string& uuid, const fs::path& dir, const FileRecord& file) {
  const fs::path path = dir / file.path;
  const std::string where = "checkpoint " + uuid + ": file " + path.string();
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) throw Error(where + " is missing; use another checkpoint");
  if (static_cast<int64_t>(size) != file.size || Sha256OfFile(path.string()) != file.sha256) {
    throw Error(where + " is damaged: it is not what was saved; use another checkpoint");
  }
}

}  // namespace det::storage
