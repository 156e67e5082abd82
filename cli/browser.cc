#include "cli/browser.h"

#include "base/status_macros.h"
#include "base/subprocess.h"
#include "cli/token_cache.h"

namespace det::cli {

absl::Status OpenInBrowser(const std::string& url) {
  std::string program = GetEnv("BROWSER");
  const bool graphical = !GetEnv("DISPLAY").empty() || !GetEnv("WAYLAND_DISPLAY").empty();
  if (program.empty() && graphical) program = "xdg-open";
  if (program.empty()) return absl::NotFoundError("there is no graphical session");
  base::SpawnOptions options;
  options.argv = {program, url};
  options.group = base::ProcessGroup::kOwnSession;  // It survives det.
  options.out = base::Redirect::Null();
  options.err = base::Redirect::Null();
  return base::Spawn(options).status();
}

}  // namespace det::cli
