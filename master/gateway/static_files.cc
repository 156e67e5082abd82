#include "master/gateway/static_files.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include <openssl/evp.h>

namespace det::gateway {
namespace {

namespace fs = std::filesystem;

std::string GetContentType(const std::string& name) {
  static const std::pair<const char*, const char*> kTypes[] = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".json", "application/json"},
      {".woff2", "font/woff2"},
  };
  for (const auto& [ending, type] : kTypes) {
    if (absl::EndsWith(name, ending)) return type;
  }
  return "application/octet-stream";
}

// Weak: the compressed forms have the same content, but different bytes.
std::string MakeEtag(const std::string& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  const absl::string_view start(reinterpret_cast<const char*>(digest), 16);
  return absl::StrCat("W/\"", absl::BytesToHexString(start), "\"");
}

// Paths of all files below `folder`, relative to it.
absl::StatusOr<std::vector<std::string>> List(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  while (!error && it != fs::recursive_directory_iterator()) {
    if (it->is_regular_file(error)) names.push_back(it->path().lexically_relative(folder).string());
    if (!error) it.increment(error);
  }
  if (error) {
    return absl::NotFoundError(absl::StrCat("cannot read folder ", folder, ": ", error.message()));
  }
  return names;
}

}  // namespace

absl::StatusOr<StaticFiles> StaticFiles::Read(const std::string& folder) {
  StaticFiles all;
  DET_ASSIGN_OR_RETURN(const std::vector<std::string> names, List(folder));
  for (const std::string& name : names) {
    DET_ASSIGN_OR_RETURN(std::string bytes, base::ReadFile(absl::StrCat(folder, "/", name)));
    absl::string_view plain = name;
    const bool brotli = absl::ConsumeSuffix(&plain, ".br");
    const bool gzip = !brotli && absl::ConsumeSuffix(&plain, ".gz");
    File& file = all.files_[absl::StrCat("/", plain)];
    (brotli ? file.brotli : gzip ? file.gzip : file.plain) = std::move(bytes);
  }
  for (auto& [path, file] : all.files_) {
    file.content_type = GetContentType(path);
    file.etag = MakeEtag(file.plain);
    file.immutable =
        absl::StartsWith(path, "/assets/");  // where Vite puts files named by content hash
  }
  if (all.Find("/index.html") == nullptr) {
    return absl::NotFoundError(absl::StrCat(folder, " has no index.html"));
  }
  return all;
}

const StaticFiles::File* StaticFiles::Find(std::string_view path) const {
  const auto it = files_.find(path == "/" ? "/index.html" : path);
  return it == files_.end() ? nullptr : &it->second;
}

}  // namespace det::gateway
