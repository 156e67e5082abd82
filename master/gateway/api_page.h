// The page at /api, where one reads what the API is and tries it: api_page.html, part of the
// program.
#ifndef MASTER_GATEWAY_API_PAGE_H_
#define MASTER_GATEWAY_API_PAGE_H_

#include <string_view>

namespace det::gateway {

std::string_view GetApiPage();

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_API_PAGE_H_
