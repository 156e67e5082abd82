// Opens addresses in the user's browser. Used by commands on the main thread.
#ifndef CLI_BROWSER_H_
#define CLI_BROWSER_H_

#include <string>

#include "absl/status/status.h"

namespace det::cli {

// Starts $BROWSER, or xdg-open in a graphical session, and does not wait for it. Returns NOT_FOUND
// if there is no browser.
absl::Status OpenInBrowser(const std::string& url);

}  // namespace det::cli

#endif  // CLI_BROWSER_H_
