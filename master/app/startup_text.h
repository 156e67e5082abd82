// The master's URL, and the text of GET /. For master.cc.
#ifndef MASTER_APP_STARTUP_TEXT_H_
#define MASTER_APP_STARTUP_TEXT_H_

#include <string>

#include "master/app/config.h"

namespace det::app {

// The URL for clients on this machine, or on others.
std::string MakeUrl(const Config& config, int port, bool from_elsewhere = false);

std::string MakeAboutText(bool tls);

}  // namespace det::app

#endif  // MASTER_APP_STARTUP_TEXT_H_
