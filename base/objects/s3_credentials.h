// The keys for S3, from the sources that docs/checkpoint-storage.md lists. Blocks if a metadata
// service is queried; one thread at a time.
#ifndef BASE_OBJECTS_S3_CREDENTIALS_H_
#define BASE_OBJECTS_S3_CREDENTIALS_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/objects/http.h"
#include "base/objects/s3_signature.h"

namespace det::objects {

class S3Credentials {
 public:
  // `given` are the keys of the configuration; empty to use other sources.
  explicit S3Credentials(S3Keys given) : given_(std::move(given)) {}

  // Returns UNAUTHENTICATED if no source has keys.
  absl::StatusOr<S3Keys> Get(absl::Time now);
  // Makes the next Get() query the sources again.
  void Invalidate() { expires_ = absl::InfinitePast(); }

 private:
  absl::Status FindKeys();
  bool ReadKeysFromFile();
  absl::StatusOr<bool> FetchKeysFromContainer();
  absl::StatusOr<bool> FetchKeysFromMachine();
  bool ParseKeys(const std::string& json);

  const S3Keys given_;
  S3Keys found_;
  absl::Time expires_ = absl::InfinitePast();
  HttpClient http_;
};

// Returns $AWS_REGION, $AWS_DEFAULT_REGION or us-east-1.
std::string S3Region();

}  // namespace det::objects

#endif  // BASE_OBJECTS_S3_CREDENTIALS_H_
