// Options and output of paged lists. Used by the commands that list objects of a cluster.
#ifndef CLI_COMMANDS_PAGING_H_
#define CLI_COMMANDS_PAGING_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/table.h"
#include "det/api/v1/common.pb.h"

namespace det::cli {

// Returns `own`, then --limit, --offset, --pages and --csv. `default_limit` is the default of
// --limit; 0 means all.
std::vector<Option> PagedOptions(std::vector<Option> own, int default_limit = 0);

struct Page {
  int limit = 0;  // 0: all
  int offset = 0;
};
absl::StatusOr<Page> ReadPage(const Invocation& run, int default_limit = 0);

// Removes the rows that are not on the page, from a list that the API returns as a whole.
template <class Rows>
void KeepPage(const Page& page, Rows* rows) {
  rows->DeleteSubrange(0, std::min(page.offset, rows->size()));
  if (page.limit > 0 && page.limit < rows->size()) {
    rows->DeleteSubrange(page.limit, rows->size() - page.limit);
  }
}

// Returns `own`, then --sort-by and --order-by, which ReadNameOrder() reads.
std::vector<Option> SortedOptions(std::vector<Option> own);

struct NameOrder {
  bool by_name = false;  // otherwise by ID
  api::v1::OrderBy order = api::v1::ORDER_BY_ASC;
};
absl::StatusOr<NameOrder> ReadNameOrder(const Invocation& run, api::v1::OrderBy default_order);

// Same as PrintList; also prints "2 of 7 models" if the page is not the whole list. `none` is
// printed for an empty list, not for an empty page.
absl::StatusOr<int> PrintPage(Invocation& run, const google::protobuf::Message& response,
                              const api::v1::Pagination& pagination, const Table& table,
                              const std::string& nouns, const std::string& none);

}  // namespace det::cli

#endif  // CLI_COMMANDS_PAGING_H_
