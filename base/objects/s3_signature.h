// Signature version 4 of Amazon's services, for S3: docs.aws.amazon.com/AmazonS3/latest/API/
// sig-v4-header-based-auth.html. The content is signed with its SHA-256.
//
// PURE.
#ifndef BASE_OBJECTS_S3_SIGNATURE_H_
#define BASE_OBJECTS_S3_SIGNATURE_H_

#include <string>

#include "absl/time/time.h"
#include "base/objects/service.h"

namespace det::objects {

struct S3Keys {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // of keys that are lent for a while
};

// Adds the headers that prove who makes this call to `host`.
void SignS3(Call& call, const std::string& host, const S3Keys& keys, const std::string& region,
            absl::Time now);

}  // namespace det::objects

#endif  // BASE_OBJECTS_S3_SIGNATURE_H_
