// Static files for browsers: the files of a folder (webui's dist), read once and found by path.
//
// Read by master.cc at start; used by http_responses.cc on its threads. Immutable.
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
    std::string etag;        // quoted; hash of the plain bytes
    bool immutable = false;  // its name contains a hash of its content
    std::string plain;
    std::string brotli, gzip;  // from <name>.br and <name>.gz; empty if missing
  };

  // Reads all files in `folder`, recursively. NOT_FOUND if it has no index.html; otherwise the
  // error of a file that cannot be read.
  static absl::StatusOr<StaticFiles> Read(const std::string& folder);

  // Finds a file by URL path ("/assets/x.js"; "/" is index.html); nullptr: none.
  const File* Find(std::string_view path) const;
  // The page for paths that the dashboard routes itself.
  const File& index() const { return *Find("/"); }

 private:
  std::map<std::string, File, std::less<>> files_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_STATIC_FILES_H_
