#include "master/agents/agent_version.h"

#include <charconv>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace det::agents {
namespace {

struct Version {
  int major = 0;
  int minor = 0;
};

// Parses "1.2" and ignores what follows another dot.
std::optional<Version> Parse(std::string_view text) {
  Version version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  if (minor.ec != std::errc() || (minor.ptr != end && *minor.ptr != '.')) return std::nullopt;
  if (version.major < 0 || version.minor < 0) return std::nullopt;
  return version;
}

}  // namespace

absl::Status CheckAgentVersion(std::string_view master, std::string_view agent) {
  const std::string install =
      absl::StrCat("install resolute-agent ", std::string(master), " on this machine");
  const std::optional<Version> own = Parse(master);
  const std::optional<Version> its = Parse(agent);
  if (!own || !its) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(agent), "\" is not a valid agent version; ", install));
  }
  const bool same = its->major == own->major && its->minor == own->minor;
  const bool before = its->major == own->major && its->minor == own->minor - 1;
  if (same || before) return absl::OkStatus();
  const bool newer = its->major != own->major ? its->major > own->major : its->minor > own->minor;
  return absl::FailedPreconditionError(
      absl::StrCat("agent version ", std::string(agent), " is too ", newer ? "new" : "old",
                   " for this master, which is ", std::string(master), "; ", install,
                   newer ? ", or upgrade the master first" : ""));
}

}  // namespace det::agents
