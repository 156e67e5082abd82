// Buckets with S3's REST interface: Amazon, Google (its XML interface) and compatible services.
#ifndef BASE_OBJECTS_S3_BUCKET_H_
#define BASE_OBJECTS_S3_BUCKET_H_

#include <memory>

#include "base/objects/bucket.h"

namespace det::objects {

std::unique_ptr<Bucket> MakeS3Bucket(const BucketConfig& config, RetryPolicy retry_policy);
std::unique_ptr<Bucket> MakeGoogleBucket(const BucketConfig& config, RetryPolicy retry_policy);

}  // namespace det::objects

#endif  // BASE_OBJECTS_S3_BUCKET_H_
