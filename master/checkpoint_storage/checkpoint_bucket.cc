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
// Whoever waits for the master to stop waits for this.
constexpr objects::Patience kPatience = {.tries = 2};

const std::string& NameOf(const Storage& storage) {
  return storage.type == "azure" ? storage.container : storage.bucket;
}

// "s3://BUCKET"
std::string RootOf(const Storage& storage) {
  return absl::StrCat(storage.type, "://", NameOf(storage));
}

// Where its server is, if that is not up to the type alone. What is no connection string has none:
// opening it says so.
std::string ServerOf(const Storage& storage) {
  if (storage.type == "s3") return std::string(absl::StripSuffix(storage.endpoint_url, "/"));
  if (storage.type != "azure") return "";
  if (storage.connection_string.empty()) {
    return std::string(absl::StripSuffix(storage.account_url, "/"));
  }
  const auto account = objects::AccountOfConnectionString(storage.connection_string);
  return account.ok() ? account->url : "";
}

// Of S3 itself: below the same domain anybody may have machines and gateways of his own.
bool IsAmazonS3(absl::string_view host) {
  if (!absl::ConsumeSuffix(&host, ".amazonaws.com.cn") &&
      !absl::ConsumeSuffix(&host, ".amazonaws.com")) {
    return false;
  }
  const absl::string_view service = host.substr(0, host.find('.'));
  // The older form is s3-REGION, with nothing behind it.
  return service == "s3" || service == "s3-fips" ||
         (absl::StartsWith(service, "s3-") && service == host);
}

bool IsKnownServer(const Storage& storage, const std::string& server) {
  if (server.empty()) return true;
  if (!absl::StartsWith(server, "https://")) return false;
  const std::string rest = server.substr(8);
  const std::string host = rest.substr(0, rest.find_first_of("/:?#@"));
  if (host.size() != rest.size()) return false;  // of a port or a user of somebody's choice
  if (storage.type == "azure") return absl::EndsWith(host, ".blob.core.windows.net");
  return IsAmazonS3(host) || host == "storage.googleapis.com";
}

// Without any of its own, the master's would be sent.
bool HasCredentials(const Storage& storage) {
  if (storage.type == "s3") return !storage.access_key.empty();
  if (storage.type != "azure") return false;
  const auto account = storage.connection_string.empty()
                           ? objects::AccountOfUrl(storage.account_url, storage.credential)
                           : objects::AccountOfConnectionString(storage.connection_string);
  return account.ok() && (!account->key.empty() || !account->sas.empty());
}

// Below the cluster's prefix: the rest of its bucket may hold anything.
bool IsOwn(const Rules& rules, const Storage& storage) {
  const std::string& prefix = rules.own.prefix;
  return rules.own.type == storage.type && NameOf(rules.own) == NameOf(storage) &&
         ServerOf(rules.own) == ServerOf(storage) &&
         (prefix.empty() || storage.prefix == prefix ||
          absl::StartsWith(storage.prefix, absl::StrCat(absl::StripSuffix(prefix, "/"), "/")));
}

bool Has(const std::vector<std::string>& roots, const std::string& root) {
  return !root.empty() && std::any_of(roots.begin(), roots.end(), [&](const std::string& each) {
    return absl::StripSuffix(each, "/") == root;
  });
}

// "https://host:port" of a server with a path.
std::string HostOf(const std::string& server) {
  const size_t slash = server.find('/', std::min(server.size(), server.find("://") + 3));
  return server.substr(0, slash);
}

std::string FolderOf(const Storage& storage, const model::CheckpointId& id) {
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
  const std::string server = ServerOf(storage), root = RootOf(storage);
  if (!IsKnownServer(storage, server) && !Has(rules.roots, HostOf(server))) {
    return absl::FailedPreconditionError(
        absl::StrCat("the master does not go to ", HostOf(server),
                     "; add that to checkpoint_roots in its configuration, or do it there"));
  }
  if (!HasCredentials(storage) && !Has(rules.roots, root)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the master does not go to ", root,
                     " with its own account; give credentials in checkpoint_storage, or add ", root,
                     " to checkpoint_roots in its configuration, or do it there"));
  }
  return absl::OkStatus();
}

bool IsAmongRoots(const Rules& rules, const Storage& storage) {
  if (rules.roots.empty() || IsOwn(rules, storage)) return true;
  const std::string server = ServerOf(storage);
  return Has(rules.roots, RootOf(storage)) || (!server.empty() && Has(rules.roots, HostOf(server)));
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
                             kPatience);
}

std::string AddressOf(const Storage& storage, const model::CheckpointId& id) {
  return absl::StrCat(RootOf(storage), "/", absl::StripSuffix(FolderOf(storage, id), "/"));
}

absl::StatusOr<std::string> KeyOf(const Storage& storage, const model::CheckpointId& id,
                                  const std::string& path) {
  if (!base::IsUuid(id.value()) || !IsPlain(path)) {
    return absl::FailedPreconditionError(
        absl::StrCat("\"", id.value(), "/", path, "\" is not the name of a checkpoint's file"));
  }
  return FolderOf(storage, id) + path;
}

absl::Status Remove(objects::Bucket& bucket, const Storage& storage,
                    const model::CheckpointId& id) {
  DET_ASSIGN_OR_RETURN(const std::string manifest, KeyOf(storage, id, "manifest.json"));
  const absl::StatusOr<std::string> text = bucket.Read(manifest, 0, kManifestLimit);
  if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
  const Json json = Json::parse(text.value_or(""), nullptr, /*allow_exceptions=*/false);
  std::string owner;
  if (json.is_object() && json.contains("owner") && json["owner"].is_string()) {
    owner = json["owner"].get<std::string>();
  }
  if (IsPlain(owner) && !absl::StrContains(owner, "/")) {
    // While the manifest still tells whose it is.
    const std::string folder = FolderOf(storage, id);
    const std::string prefix = folder.substr(0, folder.size() - id.value().size() - 1);
    DET_RETURN_IF_ERROR(bucket.Remove(absl::StrCat(prefix, "owners/", owner, "/", id.value())));
  }
  DET_RETURN_IF_ERROR(bucket.Remove(manifest));
  DET_ASSIGN_OR_RETURN(const std::vector<std::string> keys, bucket.List(FolderOf(storage, id)));
  for (const std::string& key : keys) DET_RETURN_IF_ERROR(bucket.Remove(key));
  return absl::OkStatus();
}

absl::Status RemoveSome(objects::Bucket& bucket, const Storage& storage,
                        const model::CheckpointId& id, const model::Resources& files) {
  for (const auto& [path, bytes] : files) {
    // Folders are no objects, and a name that leads elsewhere was never one of the checkpoint's.
    if (!IsPlain(path)) continue;
    DET_ASSIGN_OR_RETURN(const std::string key, KeyOf(storage, id, path));
    DET_RETURN_IF_ERROR(bucket.Remove(key));
  }
  return absl::OkStatus();
}

}  // namespace det::checkpoint_storage
