// Constants that all programs of an installation share: the version and the default data directory.
// Called by main functions and by the command line, on any thread. Never creates a directory.
#ifndef BASE_INSTALLATION_H_
#define BASE_INSTALLATION_H_

#include <string>

namespace det::base {

inline constexpr char kVersion[] = "0.1.0";

// Returns $DET_DATA_DIR if it is set. Otherwise returns /var/lib/resolute for root (PostgreSQL's
// user cannot enter root's home), and $XDG_DATA_HOME/resolute or ~/.local/share/resolute for other
// users.
std::string GetDefaultDataDir();

}  // namespace det::base

#endif  // BASE_INSTALLATION_H_
