// gzip (RFC 1952) compression of strings.
//
// Used by http_exchange.cc on its threads. Does no I/O.
#ifndef MASTER_GATEWAY_GZIP_H_
#define MASTER_GATEWAY_GZIP_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace det::gateway {

std::string Gzip(std::string_view text);

// OUT_OF_RANGE if the result exceeds `limit` bytes, INVALID_ARGUMENT if `bytes` are not one
// complete gzip stream.
absl::StatusOr<std::string> Gunzip(std::string_view bytes, uint64_t limit);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_GZIP_H_
