// The fake of three object stores (object_server.py) as a process of its own, which ends with this.
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
  // A place in it, with credentials; `type`: s3, gcs, azure. For gcs it sets the environment of
  // this process, as there is no other way to say where it is.
  Place PlaceOf(const std::string& type) const;
  // What it answers to GET.
  std::string Get(const std::string& path) const;

 private:
  pid_t pid_ = 0;
  std::string url_;
};

}  // namespace det::objects

#endif  // BASE_OBJECTS_TESTING_OBJECT_SERVER_H_
