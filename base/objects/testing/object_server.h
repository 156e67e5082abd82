// Runs the fake of the three object stores (object_server.py) as a child process, which the
// destructor ends.
#ifndef BASE_OBJECTS_TESTING_OBJECT_SERVER_H_
#define BASE_OBJECTS_TESTING_OBJECT_SERVER_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/objects/bucket.h"

namespace det::objects {

class ObjectServer {
 public:
  explicit ObjectServer(const std::vector<std::string>& options = {});
  ~ObjectServer();

  // "http://127.0.0.1:PORT"
  const std::string& url() const { return url_; }
  // Returns a bucket on this server, with credentials; `type` is s3, gcs or azure. For gcs it sets
  // environment variables of this process, the only way to configure the address.
  BucketConfig GetBucketConfig(const std::string& type) const;
  // Returns the body of the response to a GET.
  std::string Get(const std::string& path) const;

 private:
  pid_t pid_ = 0;
  std::string url_;
};

}  // namespace det::objects

#endif  // BASE_OBJECTS_TESTING_OBJECT_SERVER_H_
