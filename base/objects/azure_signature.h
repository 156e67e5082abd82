// Signs requests to Azure Blob Storage, and parses connection strings:
// learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
//
// PURE.
#ifndef BASE_OBJECTS_AZURE_SIGNATURE_H_
#define BASE_OBJECTS_AZURE_SIGNATURE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/objects/rest_client.h"

namespace det::objects {

struct AzureAccount {
  std::string url;   // of the Blob service, without a trailing slash
  std::string name;  // account name
  std::string key;   // decoded account key; empty if there is none
  std::string sas;   // shared access signature "sv=...&sig=..."; empty if there is none

  bool operator==(const AzureAccount&) const = default;
};

// Returns INVALID_ARGUMENT with the missing part; the message never contains a secret.
absl::StatusOr<AzureAccount> ParseConnectionString(const std::string& text);
// `credential` is an account key in base64, a shared access signature, or empty.
absl::StatusOr<AzureAccount> ParseAccountUrl(const std::string& url, const std::string& credential);

// Adds x-ms-date, x-ms-version and, if the account has a key, the signature. The signature includes
// the Content-Length of `call.body`.
void SignAzure(Call& call, const AzureAccount& account, absl::Time now);

}  // namespace det::objects

#endif  // BASE_OBJECTS_AZURE_SIGNATURE_H_
