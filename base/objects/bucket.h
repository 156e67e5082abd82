// A bucket of an object store: Amazon S3 and compatible services, Google Cloud Storage, Azure Blob
// Storage. docs/checkpoint-storage.md describes how each is addressed and signed, and where
// credentials come from.
//
// All calls block; one thread at a time. Transient failures are retried. Errors: NOT_FOUND if the
// object does not exist; PERMISSION_DENIED or FAILED_PRECONDITION if the credentials or the bucket
// are wrong; UNAVAILABLE if the server cannot be reached or reports an internal error. Messages
// contain the bucket, the object and the server's message, never a secret.
#ifndef BASE_OBJECTS_BUCKET_H_
#define BASE_OBJECTS_BUCKET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace det::objects {

// Larger files are uploaded in parts; one part is in memory at a time.
inline constexpr int64_t kPartSize = int64_t{64} << 20;

class Bucket {
 public:
  virtual ~Bucket() = default;

  // Creates or replaces an object with at most kPartSize bytes.
  virtual absl::Status Put(const std::string& key, absl::string_view content) = 0;
  // Uploads a file of any size.
  virtual absl::Status PutFile(const std::string& key, const std::string& path) = 0;
  // Returns `length` bytes from `offset`; fewer if the object ends earlier.
  virtual absl::StatusOr<std::string> Read(const std::string& key, int64_t offset,
                                           int64_t length) = 0;
  // Returns the keys that begin with `prefix`, in ascending order.
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& prefix) = 0;
  // Deletes an object. Returns OK if it does not exist.
  virtual absl::Status Remove(const std::string& key) = 0;

  // Downloads an object into a file, which is created or replaced.
  absl::Status GetFile(const std::string& key, const std::string& path);
};

// The fields of `checkpoint_storage` in an experiment's configuration; empty if not set.
struct BucketConfig {
  std::string type;  // s3, gcs or azure
  std::string bucket;
  std::string access_key;
  std::string secret_key;
  std::string endpoint_url;
  std::string container;
  std::string connection_string;
  std::string account_url;
  std::string credential;
};

struct RetryPolicy {
  int max_attempts = 5;
  absl::Duration initial_delay = absl::Milliseconds(500);  // doubled before each further attempt
};

// Creates a client for a bucket, without connecting to it. Returns INVALID_ARGUMENT if `config` is
// not valid.
absl::StatusOr<std::unique_ptr<Bucket>> OpenBucket(const BucketConfig& config,
                                                   RetryPolicy retry_policy = {});

}  // namespace det::objects

#endif  // BASE_OBJECTS_BUCKET_H_
