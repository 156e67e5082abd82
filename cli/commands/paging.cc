#include "cli/commands/paging.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/commands/model.h"

namespace det::cli {

std::vector<Option> PagedOptions(std::vector<Option> own, int default_limit) {
  const std::string most = default_limit == 0 ? "all" : absl::StrCat(default_limit);
  const std::vector<Option> paging = {
      {"limit", 0, "N",
       absl::StrCat("Maximum number of rows (default: ", most,
                    default_limit == 0 ? ")" : "; 0: all)")},
      {"offset", 0, "N", "Number of rows to skip (default: 0)"},
      {"pages", 0, "1|all", "Pages to print: all ignores --limit (default: 1)"},
      kCsv};
  own.insert(own.end(), paging.begin(), paging.end());
  return own;
}

absl::StatusOr<Page> ReadPage(const Invocation& run, int default_limit) {
  Page page;
  DET_ASSIGN_OR_RETURN(page.limit, run.args.GetInt("limit", default_limit, 0, 1'000'000));
  DET_ASSIGN_OR_RETURN(page.offset, run.args.GetInt("offset", 0, 0, INT32_MAX));
  const std::string pages = run.args.Get("pages").value_or("1");
  if (pages != "1" && pages != "all") {
    return UsageError(absl::StrCat("--pages: expected 1 or all, found \"", pages, "\""));
  }
  if (pages == "all") page.limit = 0;
  return page;
}

std::vector<Option> SortedOptions(std::vector<Option> own) {
  own.push_back({"sort-by", 0, "KEY", "Sort key: id or name (default: id)"});
  own.push_back({"order-by", 0, "ORDER", "Sort order: asc or desc"});
  return own;
}

absl::StatusOr<NameOrder> ReadNameOrder(const Invocation& run, api::v1::OrderBy default_order) {
  const std::string key = run.args.Get("sort-by").value_or("id");
  if (key != "id" && key != "name") {
    return UsageError(absl::StrCat("--sort-by: expected id or name, found \"", key, "\""));
  }
  NameOrder order;
  order.by_name = key == "name";
  DET_ASSIGN_OR_RETURN(order.order, ReadOrder(run, default_order));
  return order;
}

absl::StatusOr<int> PrintPage(Invocation& run, const google::protobuf::Message& response,
                              const api::v1::Pagination& pagination, const Table& table,
                              const std::string& nouns, const std::string& none) {
  const int total = pagination.total();
  const bool beyond = table.empty() && total > 0;
  DET_ASSIGN_OR_RETURN(
      const int code, run.PrintList(response, table,
                                    beyond ? absl::StrCat("no rows at this --offset; the list has ",
                                                          total, " ", nouns)
                                           : none));
  if (!table.empty() && total > table.size()) {
    run.screen->PrintNotice(absl::StrCat(table.size(), " of ", total, " ", nouns,
                                         "; use --limit and --offset for more"));
  }
  return code;
}

}  // namespace det::cli
