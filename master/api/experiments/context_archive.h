// Packs a context directory into an archive. The same files always give the same bytes, so that the
// hash identifies the content.
//
// Any thread. Works in memory and does not access the file system.
#ifndef MASTER_API_EXPERIMENTS_CONTEXT_ARCHIVE_H_
#define MASTER_API_EXPERIMENTS_CONTEXT_ARCHIVE_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "det/api/v1/common.pb.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace det::api {

constexpr int64_t kContextLimit = int64_t{95} << 20;
// Limits of one path: its bytes (PATH_MAX of Linux), and its components including the file name.
// Readers of nested messages accept this depth.
constexpr size_t kContextPathLimit = 4096;
constexpr size_t kContextDepth = 64;

struct ContextArchive {
  std::string hash;             // SHA-256 of tgz, hex
  std::string tgz;              // empty if there are no files; then the hash is empty, too
  std::set<std::string> files;  // paths of regular files and links
};

// Returns INVALID_ARGUMENT with the path that leaves the directory (by itself or as a symbolic
// link), with the duplicate path, or with the largest file if the directory exceeds kContextLimit.
absl::StatusOr<ContextArchive> PackContext(
    const google::protobuf::RepeatedPtrField<v1::File>& files);

// Converts "a//./b" to "a/b". Returns INVALID_ARGUMENT for a path that is absolute, leaves the
// directory, or exceeds the limits.
absl::StatusOr<std::string> NormalizeContextPath(std::string_view path);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_CONTEXT_ARCHIVE_H_
