// The page at /api that documents the API and sends requests: api_page.html, embedded in the
// program.
#ifndef MASTER_GATEWAY_API_PAGE_H_
#define MASTER_GATEWAY_API_PAGE_H_

#include <string_view>

namespace det::gateway {

std::string_view GetApiPage();

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_API_PAGE_H_
