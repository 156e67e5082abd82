// Lifetime of a login session and of its browser cookie.
#ifndef MASTER_AUTH_SESSION_H_
#define MASTER_AUTH_SESSION_H_

#include "absl/time/time.h"

namespace det::auth {

inline constexpr absl::Duration kSessionLifetime = absl::Hours(24 * 7);

}  // namespace det::auth

#endif  // MASTER_AUTH_SESSION_H_
