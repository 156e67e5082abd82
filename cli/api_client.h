// Client of the public API: calls methods by name over HTTP, as their HTTP rules define. Each
// command creates one. Call() and Stream() block and can be called on any thread. No connection is
// kept between calls. Never prints.
#ifndef CLI_API_CLIENT_H_
#define CLI_API_CLIENT_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/credential.h"
#include "cli/http_client.h"

namespace google::protobuf {
class Message;
}

namespace det::cli {

// Returns whether an error of ApiClient means that no connection was established.
bool IsUnreachable(const absl::Status& status);

// Returns the error of a response of the master at `url` that is not a success: its code and
// message, or that the server is not a master.
absl::Status GetResponseError(const std::string& url, int http, const std::string& body);

class ApiClient {
 public:
  // `urls` are the masters of one cluster, at least one, in the form of CanonicalUrl. The first
  // call finds the master that leads; later calls use it as long as it leads. A master that has not
  // responded yet receives nothing but GET /health. Without a credential, calls are sent without a
  // token, and an authentication error of the master is returned as it is.
  ApiClient(std::vector<std::string> urls, std::shared_ptr<Credential> credential)
      : urls_(std::move(urls)), credential_(std::move(credential)) {}
  ApiClient(std::vector<std::string> urls, std::string token)
      : ApiClient(std::move(urls), std::make_shared<Credential>(std::move(token))) {}
  ApiClient(std::string url, std::string token)
      : ApiClient(std::vector<std::string>{std::move(url)}, std::move(token)) {}

  // Calls `method`, named like "ExperimentService.GetExperiment". An error of the master is
  // returned with its code and message. If the master cannot be reached, returns UNAVAILABLE with a
  // message that says what to do. Retries for a few seconds while a master that was reached cannot
  // respond; this is safe for all methods because calls that create something carry an
  // Idempotency-Key. With `after_interrupt`, an interrupt does not end the wait for the response
  // (see HttpCall): DEADLINE_EXCEEDED and ABORTED then mean that the request may have been applied,
  // CANCELLED that it was never sent.
  absl::Status Call(absl::string_view method, const google::protobuf::Message& request,
                    google::protobuf::Message* response,
                    absl::Duration after_interrupt = absl::ZeroDuration()) const;

  // Calls a streaming method. For each element `message` is replaced and `each` is called; if it
  // returns false, the stream ends with OK. Returns ABORTED if the connection or the master ended
  // the stream.
  absl::Status Stream(absl::string_view method, const google::protobuf::Message& request,
                      google::protobuf::Message* message, absl::FunctionRef<bool()> each) const;

  // Sends any request and passes the response body to `sink` as it arrives. Returns the HTTP
  // status, including error statuses.
  absl::StatusOr<int> Send(const std::string& verb, const std::string& target,
                           const std::string& body, BodySink sink) const;

  // Returns the URLs in the form that -m accepts.
  std::string addresses() const { return absl::StrJoin(urls_, ","); }

  // Returns the URL of the master that served the last call; the first one before any call.
  const std::string& leader() const {
    const size_t known = *leader_;
    return urls_[known == kUnknownLeader ? 0 : known];
  }

 private:
  // Runs `ask` with the URL of the leader: the known one, or the first that responds and leads. If
  // no master leads, returns the status of the first one that responded.
  absl::Status CallLeader(absl::FunctionRef<absl::Status(const std::string& url)> ask) const;
  absl::Status CallOnce(const std::string& url, absl::string_view method, const std::string& key,
                        const google::protobuf::Message& request,
                        google::protobuf::Message* response, absl::Duration after_interrupt) const;
  // Repeats `ask` if the rejected token could be replaced.
  absl::Status CallAuthenticated(absl::FunctionRef<absl::Status()> ask) const;
  std::string token() const { return credential_ == nullptr ? "" : credential_->token(); }
  absl::Status StreamOnce(const std::string& url, absl::string_view method,
                          const google::protobuf::Message& request,
                          google::protobuf::Message* message, absl::FunctionRef<bool()> each) const;

  static constexpr size_t kUnknownLeader = ~size_t{0};

  std::vector<std::string> urls_;
  std::shared_ptr<Credential> credential_;
  // Index into urls_; shared by copies of the client.
  std::shared_ptr<std::atomic<size_t>> leader_ =
      std::make_shared<std::atomic<size_t>>(kUnknownLeader);
};

}  // namespace det::cli

#endif  // CLI_API_CLIENT_H_
