#include "master/checkpoint_storage/checkpoint_bucket.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/objects/azure_signature.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include <nlohmann/json.hpp>

namespace det::checkpoint_storage {
namespace {

using Json = nlohmann::json;
using Storage = model::CheckpointStorageConfig;

constexpr int64_t kManifestLimit = int64_t{64} << 20;
// Stopping the master waits for these requests.
constexpr objects::RetryPolicy kRetryPolicy = {.max_attempts = 2};

const std::string& GetName(const Storage& storage) {
  return storage.type == "azure" ? storage.container : storage.bucket;
}

// "s3://BUCKET"
std::string GetRoot(const Storage& storage) {
  return absl::StrCat(storage.type, "://", GetName(storage));
}

// The server, if the type alone does not determine it. An invalid connection string has none; Open
// reports it.
std::string GetServer(const Storage& storage) {
  if (storage.type == "s3") return std::string(absl::StripSuffix(storage.endpoint_url, "/"));
  if (storage.type != "azure") return "";
  if (storage.connection_string.empty()) {
    return std::string(absl::StripSuffix(storage.account_url, "/"));
  }
  const auto account = objects::ParseConnectionString(storage.connection_string);
  return account.ok() ? account->url : "";
}

// S3 itself: other hosts in the same domain may belong to anyone.
bool IsAmazonS3(absl::string_view host) {
  if (!absl::ConsumeSuffix(&host, ".amazonaws.com.cn") &&
      !absl::ConsumeSuffix(&host, ".amazonaws.com")) {
    return false;
  }
  const absl::string_view service = host.substr(0, host.find('.'));
  // The old form is s3-REGION.
  return service == "s3" || service == "s3-fips" ||
         (absl::StartsWith(service, "s3-") && service == host);
}

bool IsKnownServer(const Storage& storage, const std::string& server) {
  if (server.empty()) return true;
  if (!absl::StartsWith(server, "https://")) return false;
  const std::string rest = server.substr(8);
  const std::string host = rest.substr(0, rest.find_first_of("/:?#@"));
  if (host.size() != rest.size()) return false;  // not with another port or user
  if (storage.type == "azure") return absl::EndsWith(host, ".blob.core.windows.net");
  return IsAmazonS3(host) || host == "storage.googleapis.com";
}

// Without credentials, the master's own would be sent.
bool HasCredentials(const Storage& storage) {
  if (storage.type == "s3") return !storage.access_key.empty();
  if (storage.type != "azure") return false;
  const auto account = storage.connection_string.empty()
                           ? objects::ParseAccountUrl(storage.account_url, storage.credential)
                           : objects::ParseConnectionString(storage.connection_string);
  return account.ok() && (!account->key.empty() || !account->sas.empty());
}

// Only with the cluster's prefix: the rest of its bucket may contain anything.
bool IsOwn(const Rules& rules, const Storage& storage) {
  const std::string& prefix = rules.own.prefix;
  return rules.own.type == storage.type && GetName(rules.own) == GetName(storage) &&
         GetServer(rules.own) == GetServer(storage) &&
         (prefix.empty() || storage.prefix == prefix ||
          absl::StartsWith(storage.prefix, absl::StrCat(absl::StripSuffix(prefix, "/"), "/")));
}

bool Has(const std::vector<std::string>& roots, const std::string& root) {
  return !root.empty() && std::any_of(roots.begin(), roots.end(), [&](const std::string& each) {
    return absl::StripSuffix(each, "/") == root;
  });
}

// "https://host:port" of a server with a path.
std::string GetHost(const std::string& server) {
  const size_t slash = server.find('/', std::min(server.size(), server.find("://") + 3));
  return server.substr(0, slash);
}

std::string GetFolder(const Storage& storage, const model::CheckpointId& id) {
  std::string key = storage.prefix;
  if (!key.empty() && key.back() != '/') key += '/';
  return absl::StrCat(key, id.value(), "/");
}

bool IsPlain(const std::string& path) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  return std::none_of(parts.begin(), parts.end(), [](const std::string& part) {
    return part.empty() || part == "." || part == "..";
  });
}

}  // namespace

bool IsBucket(const Storage& storage) {
  return storage.type == "s3" || storage.type == "gcs" || storage.type == "azure";
}

absl::Status CheckRules(const Rules& rules, const Storage& storage) {
  if (IsOwn(rules, storage)) return absl::OkStatus();
  const std::string server = GetServer(storage), root = GetRoot(storage);
  if (!IsKnownServer(storage, server) && !Has(rules.roots, GetHost(server))) {
    return absl::FailedPreconditionError(
        absl::StrCat("the master may not access ", GetHost(server),
                     "; add it to checkpoint_roots in the master's configuration, or do it "
                     "outside of the master"));
  }
  if (!HasCredentials(storage) && !Has(rules.roots, root)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the master may not access ", root,
        " with its own credentials; give credentials in checkpoint_storage, or add ", root,
        " to checkpoint_roots in the master's configuration, or do it outside of "
        "the master"));
  }
  return absl::OkStatus();
}

bool IsAmongRoots(const Rules& rules, const Storage& storage) {
  if (rules.roots.empty() || IsOwn(rules, storage)) return true;
  const std::string server = GetServer(storage);
  return Has(rules.roots, GetRoot(storage)) ||
         (!server.empty() && Has(rules.roots, GetHost(server)));
}

absl::StatusOr<std::unique_ptr<objects::Bucket>> Open(const Rules& rules, const Storage& storage) {
  DET_RETURN_IF_ERROR(CheckRules(rules, storage));
  return objects::OpenBucket({.type = storage.type,
                              .bucket = storage.bucket,
                              .access_key = storage.access_key,
                              .secret_key = storage.secret_key,
                              .endpoint_url = storage.endpoint_url,
                              .container = storage.container,
                              .connection_string = storage.connection_string,
                              .account_url = storage.account_url,
                              .credential = storage.credential},
                             kRetryPolicy);
}

std::string MakeAddress(const Storage& storage, const model::CheckpointId& id) {
  return absl::StrCat(GetRoot(storage), "/", absl::StripSuffix(GetFolder(storage, id), "/"));
}

absl::StatusOr<std::string> MakeKey(const Storage& storage, const model::CheckpointId& id,
                                    const std::string& path) {
  if (!base::IsUuid(id.value()) || !IsPlain(path)) {
    return absl::FailedPreconditionError(
        absl::StrCat("\"", id.value(), "/", path, "\" is not the name of a checkpoint's file"));
  }
  return GetFolder(storage, id) + path;
}

absl::Status RemoveCheckpoint(objects::Bucket& bucket, const Storage& storage,
                              const model::CheckpointId& id) {
  DET_ASSIGN_OR_RETURN(const std::string manifest, MakeKey(storage, id, "manifest.json"));
  const absl::StatusOr<std::string> text = bucket.Read(manifest, 0, kManifestLimit);
  if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
  const Json json = Json::parse(text.value_or(""), nullptr, /*allow_exceptions=*/false);
  std::string owner;
  if (json.is_object() && json.contains("owner") && json["owner"].is_string()) {
    owner = json["owner"].get<std::string>();
  }
  if (IsPlain(owner) && !absl::StrContains(owner, "/")) {
    // Before the manifest is removed, which identifies the checkpoint.
    const std::string folder = GetFolder(storage, id);
    const std::string prefix = folder.substr(0, folder.size() - id.value().size() - 1);
    DET_RETURN_IF_ERROR(bucket.Remove(absl::StrCat(prefix, "owners/", owner, "/", id.value())));
  }
  DET_RETURN_IF_ERROR(bucket.Remove(manifest));
  DET_ASSIGN_OR_RETURN(const std::vector<std::string> keys, bucket.List(GetFolder(storage, id)));
  for (const std::string& key : keys) DET_RETURN_IF_ERROR(bucket.Remove(key));
  return absl::OkStatus();
}

absl::Status RemoveFiles(objects::Bucket& bucket, const Storage& storage,
                         const model::CheckpointId& id, const model::Resources& files) {
  for (const auto& [path, bytes] : files) {
    // Folders are not objects, and a name that leads elsewhere is not part of the checkpoint.
    if (!IsPlain(path)) continue;
    DET_ASSIGN_OR_RETURN(const std::string key, MakeKey(storage, id, path));
    DET_RETURN_IF_ERROR(bucket.Remove(key));
  }
  return absl::OkStatus();
}

}  // namespace det::checkpoint_storage
