#include "cli/http_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/fd.h"
#include "base/status_macros.h"
#include "boost/asio/buffer.hpp"
#include "boost/beast/core/flat_buffer.hpp"
#include "boost/beast/http.hpp"
#include "cli/dial.h"
#include "cli/interrupt.h"
#include "cli/tls.h"
#include "cli/trusted_certificates.h"

namespace det::cli {
namespace {

namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;

constexpr absl::Duration kHandshake = absl::Seconds(10);

// A socket as Beast reads it, whose every wait can be interrupted. The reason of a failed wait is
// kept beside the error code, which cannot hold it.
class InterruptibleStream {
 public:
  // `tls`: of the same socket; nullptr: in the clear.
  InterruptibleStream(int fd, TlsStream* tls, absl::Duration timeout)
      : fd_(fd), tls_(tls), timeout_(timeout) {}

  // Beast's concept asks for these two, which throw; nobody calls them.
  template <class Buffers>
  size_t read_some(const Buffers& buffers);
  template <class Buffers>
  size_t write_some(const Buffers& buffers);

  template <class Buffers>
  size_t read_some(const Buffers& buffers, ErrorCode& error) {
    const boost::asio::mutable_buffer buffer(*boost::asio::buffer_sequence_begin(buffers));
    while (true) {
      short events = POLLIN;
      const ssize_t got = tls_ != nullptr ? tls_->Read(buffer.data(), buffer.size(), &events)
                                          : recv(fd_, buffer.data(), buffer.size(), 0);
      if (got > 0) return static_cast<size_t>(got);
      if (got == 0) {
        error = boost::asio::error::eof;
        return 0;
      }
      if (!Retry(events, error)) return 0;
    }
  }

  template <class Buffers>
  size_t write_some(const Buffers& buffers, ErrorCode& error) {
    const boost::asio::const_buffer buffer(*boost::asio::buffer_sequence_begin(buffers));
    while (true) {
      short events = POLLOUT;
      const ssize_t sent = tls_ != nullptr ? tls_->Write(buffer.data(), buffer.size(), &events)
                                           : send(fd_, buffer.data(), buffer.size(), MSG_NOSIGNAL);
      if (sent >= 0) return static_cast<size_t>(sent);
      if (!Retry(events, error)) return 0;
    }
  }

  // From now on an interrupt ends no wait before it has lasted so long.
  void OutlastInterrupt(absl::Duration patience) { after_interrupt_ = patience; }

  absl::Status Failure(const ErrorCode& error) const {
    if (!failure_.ok()) return failure_;
    return absl::AbortedError(error.message());
  }

 private:
  // After a call that failed: waits if it only would have blocked.
  bool Retry(short events, ErrorCode& error) {
    if (tls_ != nullptr && events == 0) {
      error = boost::asio::error::connection_reset;
      return false;
    }
    if (tls_ == nullptr && errno == EINTR) return true;
    if (tls_ == nullptr && errno != EAGAIN) {
      error = ErrorCode(errno, boost::system::system_category());
      return false;
    }
    failure_ = WaitFor(fd_, events, timeout_);
    if (absl::IsCancelled(failure_) && after_interrupt_ > absl::ZeroDuration()) {
      if (last_ == absl::InfiniteFuture()) last_ = absl::Now() + after_interrupt_;
      failure_ = WaitUninterruptibly(fd_, events, last_ - absl::Now());
    }
    if (!failure_.ok()) error = boost::asio::error::operation_aborted;
    return failure_.ok();
  }

  const int fd_;
  TlsStream* const tls_;
  const absl::Duration timeout_;
  absl::Duration after_interrupt_;
  absl::Time last_ = absl::InfiniteFuture();  // of all waits, since an interrupt
  absl::Status failure_;
};

absl::StatusOr<base::Fd> Connect(const std::string& url) {
  DET_ASSIGN_OR_RETURN(const Addresses found, Resolve(url));
  absl::Status status;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    absl::StatusOr<base::Fd> fd = Dial(*each);
    status = fd.status();
    if (!fd.ok()) continue;
    status = WaitFor(fd->get(), POLLOUT, absl::Seconds(10));
    if (absl::IsCancelled(status)) return status;
    if (absl::IsDeadlineExceeded(status)) status = absl::UnavailableError("no answer in 10 s");
    if (status.ok()) status = DialResult(*fd);
    if (status.ok()) return fd;
  }
  return status;
}

http::request<http::string_body> MakeRequest(const HttpCall& call) {
  http::request<http::string_body> request;
  request.method_string(call.verb);
  request.target(call.target);
  request.version(11);
  request.set(http::field::host, call.url.substr(call.url.find("://") + strlen("://")));
  request.set(http::field::user_agent, "det");
  request.set(http::field::accept, "application/json");
  request.set(http::field::connection, "close");
  if (!call.token.empty()) {
    request.set(http::field::authorization, absl::StrCat("Bearer ", call.token));
  }
  if (!call.body.empty()) request.set(http::field::content_type, "application/json");
  if (!call.key.empty()) request.set("Idempotency-Key", call.key);
  request.body() = call.body;
  request.prepare_payload();
  return request;
}

absl::StatusOr<int> ReadResponse(InterruptibleStream& stream, BodySink sink) {
  boost::beast::flat_buffer buffer;
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(boost::none);
  ErrorCode error;
  http::read_header(stream, buffer, parser, error);
  if (error) return stream.Failure(error);
  const int status = parser.get().result_int();
  std::vector<char> piece(64 * 1024);
  while (!parser.is_done()) {
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    // One read of the socket at most, so that a line of a stream is seen when it comes.
    http::read_some(stream, buffer, parser, error);
    const size_t filled = piece.size() - parser.get().body().size;
    if (filled > 0) DET_RETURN_IF_ERROR(sink(status, {piece.data(), filled}));
    if (error && error != http::error::need_buffer) return stream.Failure(error);
  }
  return status;
}

}  // namespace

absl::StatusOr<ShownCertificate> LookAtCertificate(const std::string& url) {
  DET_ASSIGN_OR_RETURN(const base::Fd fd, Connect(url));
  DET_ASSIGN_OR_RETURN(const std::unique_ptr<TlsStream> tls,
                       TlsStream::Open(fd.get(), url, {.verify = false}, kHandshake));
  return ShownCertificate{tls->Certificate(), tls->Fingerprint()};
}

absl::StatusOr<int> CallHttp(const HttpCall& call, BodySink sink) {
  DET_ASSIGN_OR_RETURN(const base::Fd fd, Connect(call.url));
  std::unique_ptr<TlsStream> tls;
  if (absl::StartsWith(call.url, "https://")) {
    DET_ASSIGN_OR_RETURN(const Trust trust, GetTrust(call.url));
    DET_ASSIGN_OR_RETURN(tls, TlsStream::Open(fd.get(), call.url, trust, kHandshake));
  }
  InterruptibleStream stream(fd.get(), tls.get(), call.timeout);
  ErrorCode error;
  const http::request<http::string_body> request = MakeRequest(call);
  http::write(stream, request, error);
  // A refusal may arrive before all was sent; then it is there to be read.
  if (error && error != boost::asio::error::broken_pipe &&
      error != boost::asio::error::connection_reset) {
    return stream.Failure(error);
  }
  stream.OutlastInterrupt(call.after_interrupt);
  return ReadResponse(stream, sink);
}

}  // namespace det::cli
