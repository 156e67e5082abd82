#include "cli/commands/service_address.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/browser.h"

namespace det::cli {

const Option kNoBrowser = {"no-browser", 0, "", "Print the address and open no browser"};

void ShowService(Invocation& run, const ApiClient& api, const std::string& title,
                 const std::string& address) {
  const std::string url = absl::StrCat(api.leader(), address);
  run.screen->Print(absl::StrCat(title, " is running at: ", url, "\n"));
  if (run.args.Has("no-browser")) return;
  if (const absl::Status opened = OpenInBrowser(url); !opened.ok()) {
    run.screen->PrintHint("open the address in a browser");
  }
}

}  // namespace det::cli
