// What the master says of itself: where it is reached, and the text of GET /.
// For master.cc.
#ifndef MASTER_WORDS_H_
#define MASTER_WORDS_H_

#include <string>

#include "master/config.h"

namespace det::master {

// As this machine reaches it, or others do.
std::string UrlOf(const Config& config, int port, bool from_elsewhere = false);

std::string About(bool tls);

}  // namespace det::master

#endif  // MASTER_WORDS_H_
