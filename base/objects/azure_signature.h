// How calls of Azure's Blob service are signed, and what a connection string says.
// learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
//
// PURE.
#ifndef BASE_OBJECTS_AZURE_SIGNATURE_H_
#define BASE_OBJECTS_AZURE_SIGNATURE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/objects/service.h"

namespace det::objects {

struct AzureAccount {
  std::string url;   // of the Blob service, without a slash at the end
  std::string name;  // of the account
  std::string key;   // its bytes; empty without
  std::string sas;   // a shared access signature: "sv=...&sig=..."; empty without

  bool operator==(const AzureAccount&) const = default;
};

// INVALID_ARGUMENT says what is missing; never repeats a secret.
absl::StatusOr<AzureAccount> AccountOfConnectionString(const std::string& text);
// `credential`: an account key in base64, a shared access signature, or empty.
absl::StatusOr<AzureAccount> AccountOfUrl(const std::string& url, const std::string& credential);

// Adds x-ms-date, x-ms-version and, with a key, the signature. Its own Content-Length counts.
void SignAzure(Call& call, const AzureAccount& account, absl::Time now);

}  // namespace det::objects

#endif  // BASE_OBJECTS_AZURE_SIGNATURE_H_
