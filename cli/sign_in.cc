#include "cli/sign_in.h"

#include <sodium.h>

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/api_client.h"
#include "cli/terminal_input.h"
#include "cli/token_cache.h"

namespace det::cli {
namespace {

// Part of the interface of existing clients: they all use this salt.
constexpr absl::string_view kSalt = "GubPEmmotfiK9TMD6Zdw";
constexpr size_t kMinPasswordLength = 8;

std::string JoinUrls(const Connection& connection) { return absl::StrJoin(connection.urls, ","); }

// Returns an error that says why there is no valid token and what to do.
absl::Status NotSignedInError(const Connection& connection, const absl::Status& refusal) {
  const std::string login = absl::StrCat("sign in with `det user login",
                                         connection.user.empty() ? "" : " ", connection.user, "`");
  if (connection.source == TokenSource::kEnvironment) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the master at ", JoinUrls(connection), " rejected the token of DET_USER_TOKEN (",
        refusal.message(), "); set another one, or unset it and ", login));
  }
  const std::string whose = connection.user.empty() ? "you" : connection.user;
  if (connection.token.empty()) {
    return absl::UnauthenticatedError(absl::StrCat(
        connection.user.empty() ? "not" : absl::StrCat(whose, " is not"), " signed in at ",
        JoinUrls(connection), "; ", login, ", or set DET_USER_TOKEN"));
  }
  return absl::UnauthenticatedError(absl::StrCat("the session of ", whose, " at ",
                                                 JoinUrls(connection), " has expired (",
                                                 refusal.message(), "); ", login));
}

absl::StatusOr<std::string> Renew(Connection connection, const absl::Status& refusal) {
  std::string password = connection.password.value_or("");
  if (!connection.password) {
    const absl::Status not_signed_in = NotSignedInError(connection, refusal);
    if (connection.source == TokenSource::kEnvironment || !IsInteractive()) return not_signed_in;
    if (connection.user.empty()) {
      DET_ASSIGN_OR_RETURN(connection.user,
                           PromptLine(absl::StrCat("user name at ", JoinUrls(connection), ": ")));
      if (connection.user.empty()) return not_signed_in;
    }
    DET_ASSIGN_OR_RETURN(password,
                         PromptPassword(absl::StrCat("password of ", connection.user, " at ",
                                                     JoinUrls(connection), ": ")));
  }
  DET_ASSIGN_OR_RETURN(const api::v1::LoginResponse session,
                       SignIn(connection.urls, connection.user, password, /*activate=*/false));
  return session.token();
}

}  // namespace

std::string HashPassword(absl::string_view password) {
  if (password.empty()) return "";
  const std::string salted = absl::StrCat(kSalt, password);
  std::array<unsigned char, crypto_hash_sha512_BYTES> hash = {};
  crypto_hash_sha512(hash.data(), reinterpret_cast<const unsigned char*>(salted.data()),
                     salted.size());
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(hash.data()), hash.size()));
}

absl::Status CheckNewPassword(absl::string_view password) {
  const auto has = [&](auto kind) { return std::any_of(password.begin(), password.end(), kind); };
  if (password.size() >= kMinPasswordLength && has(absl::ascii_isupper) &&
      has(absl::ascii_islower) && has(absl::ascii_isdigit)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a password needs at least ", kMinPasswordLength,
                   " characters, with an upper-case letter, a lower-case letter and a digit"));
}

absl::StatusOr<std::string> ReadNewPassword(const std::optional<std::string>& given,
                                            absl::string_view whose) {
  std::string password = given.value_or("");
  if (!given) {
    DET_ASSIGN_OR_RETURN(password, PromptPassword(absl::StrCat("new password of ", whose, ": ")));
    if (IsInteractive()) {
      DET_ASSIGN_OR_RETURN(const std::string again, PromptPassword("repeat the password: "));
      if (again != password)
        return absl::InvalidArgumentError("the passwords do not match; try again");
    }
  }
  DET_RETURN_IF_ERROR(CheckNewPassword(password));
  return password;
}

absl::StatusOr<api::v1::LoginResponse> SignIn(const std::vector<std::string>& urls,
                                              const std::string& user, const std::string& password,
                                              bool activate) {
  api::v1::LoginRequest request;
  request.set_username(user);
  request.set_password(HashPassword(password));
  request.set_is_hashed(true);
  api::v1::LoginResponse response;
  const absl::Status status =
      ApiClient(urls, std::shared_ptr<Credential>()).Call("AuthService.Login", request, &response);
  if (absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status)) {
    return absl::UnauthenticatedError(absl::StrCat(
        "cannot sign in as ", user, " at ", absl::StrJoin(urls, ","), ": ", status.message()));
  }
  DET_RETURN_IF_ERROR(status);
  for (const std::string& url : urls) {
    DET_RETURN_IF_ERROR(SaveToken(url, user, response.token(), activate));
  }
  return response;
}

std::shared_ptr<Credential> MakeCredential(const Connection& connection) {
  return std::make_shared<Credential>(connection.token, [connection](const absl::Status& refusal) {
    return Renew(connection, refusal);
  });
}

}  // namespace det::cli
