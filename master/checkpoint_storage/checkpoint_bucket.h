// A checkpoint in a bucket, as the master sees it: where it lies, and its removal
// (docs/checkpoint-storage.md).
//
// Users name buckets and servers in their configurations. The master stands elsewhere in the
// network than they do, and its machine may have an account of its own: it goes only where its own
// configuration lets it. Called by the service and by the sweep, on threads that may block.
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

// Where the master may go.
struct Rules {
  // The cluster's own place: always.
  model::CheckpointStorageConfig own;
  // checkpoint_roots of its configuration: "s3://BUCKET", "gcs://BUCKET", "azure://CONTAINER" with
  // the account of the master's machine, "https://HOST[:PORT]" for servers of others than Amazon,
  // Google and Microsoft. Paths are for others to judge.
  std::vector<std::string> roots;
};

// Whether it is a bucket, and not a folder.
bool IsBucket(const model::CheckpointStorageConfig& storage);

// FAILED_PRECONDITION says what keeps the master from going there: a server that is not among the
// known ones or the roots, or a bucket that neither comes with credentials nor is among the roots.
absl::Status CheckRules(const Rules& rules, const model::CheckpointStorageConfig& storage);

// Whether the roots name this bucket or its server; true without any root.
bool IsAmongRoots(const Rules& rules, const model::CheckpointStorageConfig& storage);

// After CheckRules.
absl::StatusOr<std::unique_ptr<objects::Bucket>> Open(
    const Rules& rules, const model::CheckpointStorageConfig& storage);

// "s3://BUCKET/PREFIX/ID"
std::string AddressOf(const model::CheckpointStorageConfig& storage, const model::CheckpointId& id);
// Of one of its files. FAILED_PRECONDITION for an id or a path that would lead elsewhere.
absl::StatusOr<std::string> KeyOf(const model::CheckpointStorageConfig& storage,
                                  const model::CheckpointId& id, const std::string& path);

// The manifest first, so that no half checkpoint looks whole; OK also if it is gone.
absl::Status Remove(objects::Bucket& bucket, const model::CheckpointStorageConfig& storage,
                    const model::CheckpointId& id);
// These files of it alone.
absl::Status RemoveSome(objects::Bucket& bucket, const model::CheckpointStorageConfig& storage,
                        const model::CheckpointId& id, const model::Resources& files);

}  // namespace det::checkpoint_storage

#endif  // MASTER_CHECKPOINT_STORAGE_CHECKPOINT_BUCKET_H_
