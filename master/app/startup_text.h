// What the master says of itself: where it is reached, and the text of GET /.
// For master.cc.
#ifndef MASTER_APP_STARTUP_TEXT_H_
#define MASTER_APP_STARTUP_TEXT_H_

#include <string>

#include "master/app/config.h"

namespace det::app {

// As this machine reaches it, or others do.
std::string UrlOf(const Config& config, int port, bool from_elsewhere = false);

std::string About(bool tls);

}  // namespace det::app

#endif  // MASTER_APP_STARTUP_TEXT_H_
