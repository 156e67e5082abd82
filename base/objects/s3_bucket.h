// S3's REST interface, as Amazon, Google (its XML interface) and many others speak it.
#ifndef BASE_OBJECTS_S3_BUCKET_H_
#define BASE_OBJECTS_S3_BUCKET_H_

#include <memory>

#include "base/objects/bucket.h"

namespace det::objects {

std::unique_ptr<Bucket> MakeS3Bucket(const Place& place, Patience patience);
std::unique_ptr<Bucket> MakeGoogleBucket(const Place& place, Patience patience);

}  // namespace det::objects

#endif  // BASE_OBJECTS_S3_BUCKET_H_
