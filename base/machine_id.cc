#include "base/machine_id.h"

#include <sys/stat.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace det::base {

std::string GetMachineId() {
  const auto boot = ReadFile("/proc/sys/kernel/random/boot_id");
  struct stat network = {};
  if (!boot.ok() || ::stat("/proc/self/ns/net", &network) != 0) return "";
  return absl::StrCat(absl::StripAsciiWhitespace(*boot), "/", network.st_ino);
}

}  // namespace det::base
