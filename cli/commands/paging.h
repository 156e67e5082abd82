// Which part of a long list is asked for and shown.
// Called by the commands that list what a cluster has many of.
#ifndef CLI_COMMANDS_PAGING_H_
#define CLI_COMMANDS_PAGING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/table.h"
#include "det/api/v1/common.pb.h"

namespace det::cli {

// `own`, then --limit, --offset and --pages, then --csv. `usual`: at most so many without --limit;
// 0: all.
std::vector<Option> PagedOptions(std::vector<Option> own, int usual = 0);

struct Page {
  int limit = 0;  // 0: all
  int offset = 0;
};
absl::StatusOr<Page> ReadPage(const Invocation& run, int usual = 0);

// As PrintList; says so where it is not all, as "2 of 7 models". `none` is for a list of nothing,
// not for a part of it that has no rows.
absl::StatusOr<int> PrintPage(Invocation& run, const google::protobuf::Message& response,
                              const api::v1::Pagination& pagination, const Table& table,
                              const std::string& nouns, const std::string& none);

}  // namespace det::cli

#endif  // CLI_COMMANDS_PAGING_H_
