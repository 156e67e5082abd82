// A bucket of an object store: Amazon S3 and what speaks as it does, Google Cloud Storage, Azure
// Blob Storage. docs/checkpoint-storage.md says how each is addressed and signed, and where
// credentials come from.
//
// All calls block; one thread at a time. What fails for the moment is tried several times.
// NOT_FOUND: there is no such object; PERMISSION_DENIED, FAILED_PRECONDITION: credentials or bucket
// are wrong; UNAVAILABLE: the server could not be reached, or was out of order. Messages name
// bucket, object and what the server said, never a secret.
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

// What is larger goes in parts; one part is in memory at a time.
inline constexpr int64_t kPartSize = int64_t{64} << 20;

class Bucket {
 public:
  virtual ~Bucket() = default;

  // Replaces what is there. At most kPartSize bytes.
  virtual absl::Status Put(const std::string& key, absl::string_view content) = 0;
  // Of any size.
  virtual absl::Status PutFile(const std::string& key, const std::string& path) = 0;
  // `length` bytes from `offset` on; fewer where the object ends.
  virtual absl::StatusOr<std::string> Read(const std::string& key, int64_t offset,
                                           int64_t length) = 0;
  // The keys that begin with `prefix`, in order.
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& prefix) = 0;
  // OK also when it is not there.
  virtual absl::Status Remove(const std::string& key) = 0;

  // Into a file, which is made or replaced.
  absl::Status GetFile(const std::string& key, const std::string& path);
};

// Members as `checkpoint_storage` in an experiment's configuration has them; empty: not given.
struct Place {
  std::string type;  // s3, gcs, azure
  std::string bucket;
  std::string access_key;
  std::string secret_key;
  std::string endpoint_url;
  std::string container;
  std::string connection_string;
  std::string account_url;
  std::string credential;
};

struct Patience {
  int tries = 5;
  absl::Duration first_pause = absl::Milliseconds(500);  // twice as long before each further try
};

// INVALID_ARGUMENT for a place that is none. Does not go there yet.
absl::StatusOr<std::unique_ptr<Bucket>> OpenBucket(const Place& place, Patience patience = {});

}  // namespace det::objects

#endif  // BASE_OBJECTS_BUCKET_H_
