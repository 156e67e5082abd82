// The agent's line to the master: one control stream that is made again whenever it breaks, and the
// calls for logs and contexts beside it.
// Owned by Agent; all but ReadContext and Close on its loop, where the listener is called too.
// Never buffers reports: whoever sends them sends them again after OnRegistered.
#ifndef AGENT_LINK_MASTER_LINK_H_
#define AGENT_LINK_MASTER_LINK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/core/event.h"
#include "agent/core/task.h"
#include "agent/link/context_cache.h"
#include "agent/link/log_shipper.h"
#include "agent/link/tls_options.h"
#include "base/event_loop.h"

namespace det::agent {

struct MasterAddress {
  std::string host;
  int port = 0;
  bool tls = false;

  std::string Target() const;  // host:port, an IPv6 address in brackets
  std::string Url() const;
};

// "http://host:port", "https://host:port" or "host:port". INVALID_ARGUMENT with the remedy.
absl::StatusOr<MasterAddress> ParseMasterAddress(absl::string_view text);
// One or more of them, with commas between.
absl::StatusOr<std::vector<MasterAddress>> ParseMasterAddresses(absl::string_view text);

// Whether all speak TLS, or none does, as tasks are told of one way to all; and none may where
// `tls` has something for it. INVALID_ARGUMENT with the remedy.
absl::Status CheckTls(const std::vector<MasterAddress>& masters, const TlsOptions& tls);

// The address of this machine on the way to the first of these masters that there is a way to.
// UNAVAILABLE if there is none.
absl::StatusOr<std::string> LocalAddressTowards(const std::vector<MasterAddress>& masters);

struct Registration {
  std::string agent_id;
  std::string version;
  std::string resource_pool;
  std::string address;
  std::vector<Device> devices;
  std::vector<RunningTask> running;
  std::string incarnation;
  std::optional<double> cpus;     // that tasks may use together; absent: not counted
  std::optional<int64_t> memory;  // bytes; likewise
  std::string network_switch;
  std::map<std::string, std::string> labels;
};

struct Registered {
  std::string cluster_id;
  std::string master_version;
  MasterAddress master;
};

class LinkListener {
 public:
  virtual ~LinkListener() = default;
  // A stream is being made: what the agent says first.
  virtual Registration OnConnecting() = 0;
  virtual void OnRegistered(const Registered& registered) = 0;
  // StartTask, StopTask or AckReports.
  virtual void OnOrder(const Event& order) = 0;
  virtual void OnShutdown(const std::string& reason) = 0;
  // The stream broke or was never made; the next attempt follows by itself.
  virtual void OnDisconnected(const absl::Status& why) = 0;
};

struct LinkOptions {
  std::vector<MasterAddress> masters;  // one leads, others may stand by; asked in turn
  TlsOptions tls;                      // for those at https://
  std::string agent_id;
  std::string token;  // empty: none is sent
  uint64_t seed = 0;  // of the backoff's jitter
};

class MasterLink : public LogPoster, public ContextReader {
 public:
  // Connects, and connects again, until Close.
  virtual void Connect() = 0;

  // Lost if no stream stands.
  virtual void Send(const Report& report) = 0;

  // Ends the stream and all calls and waits until they have ended. REQUIRES that the loop has been
  // stopped and that no thread is in ReadContext or comes to it. Must be called before destruction.
  virtual void Close() = 0;
};

std::unique_ptr<MasterLink> MakeMasterLink(const LinkOptions& options, base::EventLoop* loop,
                                           LinkListener* listener);

}  // namespace det::agent

#endif  // AGENT_LINK_MASTER_LINK_H_
