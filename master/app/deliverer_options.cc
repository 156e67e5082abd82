#include "master/app/deliverer_options.h"

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "master/auth/tokens.h"
#include "master/webhooks/addresses.h"

namespace det::app {

absl::StatusOr<webhooks::DelivererOptions> ReadDelivererOptions(const Config& config,
                                                                store::Store& store,
                                                                const std::string& folder) {
  webhooks::DelivererOptions options;
  options.signing_key = config.webhook_signing_key;
  options.base_url = config.webhook_base_url;
  options.addresses.allow_private = config.webhook_allow_private;
  for (const std::string& text : config.webhook_networks) {
    DET_ASSIGN_OR_RETURN(options.addresses.allowed.emplace_back(), webhooks::ParseNetwork(text));
  }
  if (!options.signing_key.empty()) return options;
  DET_ASSIGN_OR_RETURN(options.signing_key,
                       store.GetOrSetProperty("webhook_signing_key", auth::NewToken()));
  DET_RETURN_IF_ERROR(base::WriteFileAtomically(absl::StrCat(folder, "/webhook.key"),
                                                absl::StrCat(options.signing_key, "\n"), 0600));
  return options;
}

}  // namespace det::app
