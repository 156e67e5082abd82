// What all programs of one installation agree on: the version, and where data lies by default.
// Called by main functions and the command line; on any thread. Never makes a folder.
#ifndef BASE_INSTALL_H_
#define BASE_INSTALL_H_

#include <string>

namespace det::base {

inline constexpr char kVersion[] = "0.1.0";

// $DET_DATA_DIR; else /var/lib/resolute for root, whose home PostgreSQL's user could not enter;
// else $XDG_DATA_HOME/resolute or ~/.local/share/resolute.
std::string DefaultDataDir();

}  // namespace det::base

#endif  // BASE_INSTALL_H_
