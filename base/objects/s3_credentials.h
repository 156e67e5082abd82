// Where the keys for S3 come from: docs/checkpoint-storage.md. Blocks where a metadata service is
// asked; one thread at a time.
#ifndef BASE_OBJECTS_S3_CREDENTIALS_H_
#define BASE_OBJECTS_S3_CREDENTIALS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/objects/http.h"
#include "base/objects/s3_signature.h"

namespace det::objects {

class S3Credentials {
 public:
  // `given`: of the configuration; empty to look elsewhere.
  explicit S3Credentials(S3Keys given) : given_(std::move(given)) {}

  // UNAUTHENTICATED when there are none anywhere.
  absl::StatusOr<S3Keys> Get(absl::Time now);
  // Looks anew next time.
  void Forget() { until_ = absl::InfinitePast(); }

 private:
  absl::Status Find();
  bool FromFile();
  absl::StatusOr<bool> FromContainer();
  absl::StatusOr<bool> FromMachine();
  bool Take(const std::string& json);

  const S3Keys given_;
  S3Keys found_;
  absl::Time until_ = absl::InfinitePast();
  HttpClient http_;
};

// $AWS_REGION, $AWS_DEFAULT_REGION, us-east-1.
std::string S3Region();

}  // namespace det::objects

#endif  // BASE_OBJECTS_S3_CREDENTIALS_H_
