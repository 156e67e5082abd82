#include "base/installation.h"

#include <unistd.h>

#include <cstdlib>

namespace det::base {
namespace {

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string GetDefaultDataDir() {
  if (std::string dir = FromEnvironment("DET_DATA_DIR"); !dir.empty()) return dir;
  if (::geteuid() == 0) return "/var/lib/resolute";
  const std::string xdg = FromEnvironment("XDG_DATA_HOME");
  if (!xdg.empty() && xdg[0] == '/') return xdg + "/resolute";
  return FromEnvironment("HOME") + "/.local/share/resolute";
}

}  // namespace det::base
