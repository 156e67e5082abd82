#include "base/objects/bucket.h"

#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/objects/azure_bucket.h"
#include "base/objects/s3_bucket.h"
#include "base/status_macros.h"

namespace det::objects {
namespace {

constexpr int64_t kReadSize = int64_t{16} << 20;

// The URL must consist of scheme, host and port; a path would not be covered by the signature.
absl::Status CheckEndpoint(const std::string& url) {
  absl::string_view rest = url;
  const bool is_url =
      absl::ConsumePrefix(&rest, "http://") || absl::ConsumePrefix(&rest, "https://");
  absl::ConsumeSuffix(&rest, "/");
  if (url.empty() || (is_url && !absl::StrContains(rest, "/"))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("checkpoint_storage.endpoint_url: \"", url,
                   "\" is not the URL of a server; expected a URL such as "
                   "https://minio.example.org:9000"));
}

}  // namespace

absl::Status Bucket::GetFile(const std::string& key, const std::string& path) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  for (int64_t at = 0; out;) {
    DET_ASSIGN_OR_RETURN(const std::string piece, Read(key, at, kReadSize));
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    at += static_cast<int64_t>(piece.size());
    if (static_cast<int64_t>(piece.size()) < kReadSize) break;
  }
  out.close();
  if (out) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot write ", path, "; check the free disk space"));
}

absl::StatusOr<std::unique_ptr<Bucket>> OpenBucket(const BucketConfig& config,
                                                   RetryPolicy retry_policy) {
  if (config.type == "azure") return MakeAzureBucket(config, retry_policy);
  if (config.bucket.empty())
    return absl::InvalidArgumentError("checkpoint_storage.bucket: missing");
  if (config.type == "gcs") return MakeGoogleBucket(config, retry_policy);
  if (config.type != "s3") {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", config.type, "\" is not an object store; expected s3, gcs or azure"));
  }
  DET_RETURN_IF_ERROR(CheckEndpoint(config.endpoint_url));
  return MakeS3Bucket(config, retry_policy);
}

}  // namespace det::objects
