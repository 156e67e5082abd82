// The connection of the agent to the master: one control stream that is reopened whenever it
// breaks, the calls for logs and contexts, and the tunnels. Owned by Agent. All functions but
// ReadContext and Close are called on its loop, where the listener is called too. Does not buffer
// reports: after OnRegistered, the caller sends them again.
#ifndef AGENT_LINK_MASTER_LINK_H_
#define AGENT_LINK_MASTER_LINK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/core/event.h"
#include "agent/core/task.h"
#include "agent/link/context_cache.h"
#include "agent/link/log_shipper.h"
#include "agent/link/master_address.h"
#include "agent/link/tls_options.h"
#include "base/event_loop.h"

namespace det::agent {

struct Registration {
  std::string agent_id;
  std::string version;
  std::string resource_pool;
  std::string address;
  std::vector<Device> devices;
  std::vector<RunningTask> running;
  std::string incarnation;
  std::optional<double> cpus;     // available to tasks in total; not set: not counted
  std::optional<int64_t> memory;  // bytes; same rules as `cpus`
  std::string network_switch;
  std::map<std::string, std::string> labels;
  std::string machine_id;  // base::GetMachineId
};

struct Registered {
  std::string cluster_id;
  std::string master_version;
  MasterAddress master;
};

class LinkListener {
 public:
  virtual ~LinkListener() = default;
  // Called when a stream is opened; returns the first message to send.
  virtual Registration OnConnecting() = 0;
  virtual void OnRegistered(const Registered& registered) = 0;
  // Called with a StartTask, StopTask or AckReports.
  virtual void OnOrder(const Event& order) = 0;
  virtual void OnShutdown(const std::string& reason) = 0;
  // Called when the stream broke or could not be opened; the link retries by itself.
  virtual void OnDisconnected(const absl::Status& why) = 0;
};

struct LinkOptions {
  std::vector<MasterAddress> masters;  // one leads, the others are standbys; tried in turn
  TlsOptions tls;                      // for masters with https://
  std::string agent_id;
  std::string token;  // empty: no token is sent
  uint64_t seed = 0;  // for the jitter of the backoff
};

class MasterLink : public LogPoster, public ContextReader {
 public:
  // Connects, and reconnects after each failure, until Close.
  virtual void Connect() = 0;

  // Sends a report; it is lost if no stream is open.
  virtual void Send(const Report& report) = 0;

  // Cancels the stream and all calls, and waits until they have ended. REQUIRES that the loop has
  // been stopped and that no thread is in ReadContext or will call it. Must be called before
  // destruction.
  virtual void Close() = 0;
};

std::unique_ptr<MasterLink> MakeMasterLink(const LinkOptions& options, base::EventLoop* loop,
                                           LinkListener* listener);

}  // namespace det::agent

#endif  // AGENT_LINK_MASTER_LINK_H_
