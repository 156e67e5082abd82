// A container of Azure Blob Storage, accessed with its REST interface.
#ifndef BASE_OBJECTS_AZURE_BUCKET_H_
#define BASE_OBJECTS_AZURE_BUCKET_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/objects/bucket.h"

namespace det::objects {

absl::StatusOr<std::unique_ptr<Bucket>> MakeAzureBucket(const BucketConfig& config,
                                                        RetryPolicy retry_policy);

}  // namespace det::objects

#endif  // BASE_OBJECTS_AZURE_BUCKET_H_
