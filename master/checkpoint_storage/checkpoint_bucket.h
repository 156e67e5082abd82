// Location and removal of a checkpoint in a bucket (docs/checkpoint-storage.md).
//
// Users name buckets and servers in their configurations. The master may reach other networks than
// they do, and its machine may have credentials of its own, so it connects only where its own
// configuration allows. Called by services and garbage collection, on threads that may block.
#ifndef MASTER_CHECKPOINT_STORAGE_CHECKPOINT_BUCKET_H_
#define MASTER_CHECKPOINT_STORAGE_CHECKPOINT_BUCKET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/objects/bucket.h"
#include "master/core/model/file_globs.h"
#include "master/core/model/ids.h"
#include "master/core/model/storage_config.h"

namespace det::checkpoint_storage {

// Which storage the master may access.
struct Rules {
  // The cluster's own storage: always allowed.
  model::CheckpointStorageConfig own;
  // checkpoint_roots of its configuration: "s3://BUCKET", "gcs://BUCKET", "azure://CONTAINER" with
  // the account of the master's machine, "https://HOST[:PORT]" for servers of others than Amazon,
  // Google and Microsoft. Paths are not checked here.
  std::vector<std::string> roots;
};

// Whether it is a bucket and not a folder.
bool IsBucket(const model::CheckpointStorageConfig& storage);

// FAILED_PRECONDITION tells why the master may not access it: the server is neither well-known nor
// among the roots, or the bucket has no credentials and is not among the roots.
absl::Status CheckRules(const Rules& rules, const model::CheckpointStorageConfig& storage);

// Whether the roots contain this bucket or its server; true if there are no roots.
bool IsAmongRoots(const Rules& rules, const model::CheckpointStorageConfig& storage);

// REQUIRES that CheckRules returned OK.
absl::StatusOr<std::unique_ptr<objects::Bucket>> Open(
    const Rules& rules, const model::CheckpointStorageConfig& storage);

// "s3://BUCKET/PREFIX/ID"
std::string MakeAddress(const model::CheckpointStorageConfig& storage,
                        const model::CheckpointId& id);
// The object key of one of its files. FAILED_PRECONDITION if the id or path would lead outside of
// the checkpoint.
absl::StatusOr<std::string> MakeKey(const model::CheckpointStorageConfig& storage,
                                    const model::CheckpointId& id, const std::string& path);

// Removes the manifest first, so that an incomplete checkpoint never looks complete. Returns OK if
// it does not exist.
absl::Status RemoveCheckpoint(objects::Bucket& bucket,
                              const model::CheckpointStorageConfig& storage,
                              const model::CheckpointId& id);
// Removes only these files.
absl::Status RemoveFiles(objects::Bucket& bucket, const model::CheckpointStorageConfig& storage,
                         const model::CheckpointId& id, const model::Resources& files);

}  // namespace det::checkpoint_storage

#endif  // MASTER_CHECKPOINT_STORAGE_CHECKPOINT_BUCKET_H_
