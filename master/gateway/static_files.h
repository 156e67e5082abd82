// The pages for browsers: the files of a folder (webui's dist), read once, and told by their paths.
//
// Read by master.cc at start; asked by http_answers.cc on its threads. Never changes after.
#ifndef MASTER_GATEWAY_STATIC_FILES_H_
#define MASTER_GATEWAY_STATIC_FILES_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace det::gateway {

class StaticFiles {
 public:
  struct File {
    std::string content_type;
    std::string etag;        // quoted; of the plain bytes
    bool immutable = false;  // its name tells its content
    std::string plain;
    std::string brotli, gzip;  // from <name>.br and <name>.gz; empty without
  };

  // All files of `folder` and below. NOT_FOUND when it has no index.html; else the error of the
  // file that cannot be read.
  static absl::StatusOr<StaticFiles> Read(const std::string& folder);

  // By the path of an address ("/assets/x.js"; "/" is index.html); nullptr: there is none.
  const File* Find(std::string_view path) const;
  // What is shown at addresses that are the page's own to understand.
  const File& index() const { return *Find("/"); }

 private:
  std::map<std::string, File, std::less<>> files_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_STATIC_FILES_H_
