// AWS Signature Version 4 for S3: docs.aws.amazon.com/AmazonS3/latest/API/
// sig-v4-header-based-auth.html. The content is signed with its SHA-256.
//
// PURE.
#ifndef BASE_OBJECTS_S3_SIGNATURE_H_
#define BASE_OBJECTS_S3_SIGNATURE_H_

#include <string>

#include "absl/time/time.h"
#include "base/objects/rest_client.h"

namespace det::objects {

struct S3Keys {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // set for temporary keys
};

// Adds the headers that authenticate a call to `host`.
void SignS3(Call& call, const std::string& host, const S3Keys& keys, const std::string& region,
            absl::Time now);

}  // namespace det::objects

#endif  // BASE_OBJECTS_S3_SIGNATURE_H_
