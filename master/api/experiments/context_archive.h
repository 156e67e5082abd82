// A context directory as one archive: the same files always give the same bytes, so that its hash
// says what it holds.
//
// Any thread. Works in memory; never touches the file system.
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
// Of one path: bytes, as Linux has it, and folders on the way with the file itself, which readers
// of nested messages keep up with.
constexpr size_t kContextPathLimit = 4096;
constexpr size_t kContextDepth = 64;

struct ContextArchive {
  std::string hash;             // SHA-256 of tgz, hex
  std::string tgz;              // empty for no files at all; then the hash is empty, too
  std::set<std::string> files;  // paths of regular files and links
};

// INVALID_ARGUMENT naming the path that leaves the directory (by itself or as a link), that stands
// there twice, or the largest file of a directory over the limit.
absl::StatusOr<ContextArchive> PackContext(
    const google::protobuf::RepeatedPtrField<v1::File>& files);

// "a//./b" -> "a/b". INVALID_ARGUMENT for an absolute path, one that leads out, and one over the
// limits.
absl::StatusOr<std::string> NormalizeContextPath(std::string_view path);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_CONTEXT_ARCHIVE_H_
