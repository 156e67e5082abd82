// det tunnel, det task tunnel
#include "cli/commands/tunnel.h"

#include <unistd.h>

#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "cli/api_client.h"
#include "cli/credential.h"
#include "cli/follow.h"
#include "cli/sign_in.h"
#include "cli/trusted_certificates.h"
#include "det/api/v1/auth.pb.h"
#include "det/api/v1/master.pb.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {
namespace {

std::optional<int> ParsePort(absl::string_view text, int min) {
  int port = 0;
  if (!absl::SimpleAtoi(text, &port) || port < min || port > 65535) return std::nullopt;
  return port;
}

// Relays stdin and stdout, or the connections of --listener.
absl::StatusOr<int> RunTunnelCommand(Invocation& run, const TunnelTarget& target) {
  const std::optional<std::string> address = run.args.Get("listener");
  if (!address) {
    DET_RETURN_IF_ERROR(RelayDescriptors(target, STDIN_FILENO, STDOUT_FILENO));
    return kExitOk;
  }
  DET_ASSIGN_OR_RETURN(TunnelListener listener, OpenListener("listener", *address));
  run.screen->PrintNotice(absl::StrCat("listening on port ", listener.port(), " for ",
                                       target.service, "; Ctrl-C stops"));
  DET_RETURN_IF_ERROR(listener.Serve(target, [&run](const absl::Status& status) {
    run.screen->PrintNotice(absl::StrCat("det: ", status.message()));
  }));
  return kExitOk;
}

absl::StatusOr<int> RunTunnel(Invocation& run) {
  const std::string service = run.args.Word("SERVICE");
  DET_RETURN_IF_ERROR(CheckService(service));
  DET_ASSIGN_OR_RETURN(const Connection connection,
                       FindMaster(run.args.Word("MASTER"), run.args.Get("user")));
  // GetTrust() reads the settings from these variables.
  if (const auto file = run.args.Get("cert-file")) {
    ::setenv("DET_MASTER_CERT_FILE", file->c_str(), 1);
  }
  if (const auto name = run.args.Get("cert-name")) {
    ::setenv("DET_MASTER_CERT_NAME", name->c_str(), 1);
  }
  DET_ASSIGN_OR_RETURN(const TunnelTarget target,
                       MakeTunnelTarget(connection, service, run.args.Has("auth")));
  absl::StatusOr<int> code = RunTunnelCommand(run, target);
  if (absl::IsUnauthenticated(code.status()) && !run.args.Has("auth")) {
    return absl::UnauthenticatedError(
        absl::StrCat("the service ", service, " is only for users; send your token with --auth"));
  }
  return code;
}

absl::StatusOr<int> RunTaskTunnel(Invocation& run) {
  const std::string service = run.args.Word("TASK");
  DET_RETURN_IF_ERROR(CheckService(service));
  DET_ASSIGN_OR_RETURN(const Connection connection, run.FindConnection());
  DET_ASSIGN_OR_RETURN(const TunnelTarget target,
                       MakeTunnelTarget(connection, service, /*authenticate=*/true));
  return RunTunnelCommand(run, target);
}

}  // namespace

absl::StatusOr<TunnelTarget> MakeTunnelTarget(const Connection& connection,
                                              const std::string& service, bool authenticate) {
  const std::shared_ptr<Credential> credential =
      authenticate ? MakeCredential(connection) : nullptr;
  const ApiClient api(connection.urls, credential);
  // A call finds the leader and renews the token.
  if (authenticate) {
    api::v1::GetMeResponse me;
    DET_RETURN_IF_ERROR(api.Call("AuthService.GetMe", api::v1::GetMeRequest(), &me));
  } else if (connection.urls.size() > 1) {
    api::v1::GetHealthResponse health;
    DET_RETURN_IF_ERROR(api.Call("MasterService.GetHealth", api::v1::GetHealthRequest(), &health));
  }
  TunnelTarget target = {api.leader(), service, authenticate ? credential->token() : "", {}};
  DET_ASSIGN_OR_RETURN(target.trust, GetTrust(target.url));
  return target;
}

absl::StatusOr<TunnelListener> OpenListener(const std::string& option, absl::string_view text) {
  std::string address = "127.0.0.1";
  absl::string_view number = text;
  if (const size_t colon = text.rfind(':'); colon != text.npos) {
    absl::string_view host = text.substr(0, colon);
    if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
    address = std::string(host);
    number = text.substr(colon + 1);
  }
  const std::optional<int> port = ParsePort(number, 0);
  if (!port) {
    return UsageError(
        absl::StrCat("--", option, ": expected a port such as 8080, found \"", text, "\""));
  }
  return TunnelListener::Open(address, *port);
}

// ---- PublishedPorts ----

struct PublishedPorts::State {
  struct Port {
    int remote = 0;
    TunnelListener listener;
  };

  std::vector<Port> ports;
  std::vector<std::thread> serving;
  std::thread starting;
};

namespace {

// Returns the task of the experiment's first trial; empty if the experiment ended without one.
absl::StatusOr<std::string> GetFirstTask(const ApiClient& api, int experiment) {
  // The thread that follows the experiment prints that it waits for the master.
  DET_ASSIGN_OR_RETURN(const int trial, FirstTrial(api, experiment, /*wait=*/true, nullptr));
  if (trial == 0) return "";
  api::v1::GetTrialRequest request;
  request.set_trial_id(trial);
  api::v1::GetTrialResponse response;
  DET_RETURN_IF_ERROR(api.Call("TrialService.GetTrial", request, &response));
  return response.trial().task_id();
}

}  // namespace

PublishedPorts::PublishedPorts(std::unique_ptr<State> state) : state_(std::move(state)) {}
PublishedPorts::PublishedPorts(PublishedPorts&&) noexcept = default;

PublishedPorts::~PublishedPorts() {
  if (state_ == nullptr) return;
  if (state_->starting.joinable()) state_->starting.join();
  for (State::Port& port : state_->ports) port.listener.Stop();
  for (std::thread& each : state_->serving) each.join();
}

absl::StatusOr<PublishedPorts> PublishedPorts::Open(const std::vector<std::string>& ports) {
  auto state = std::make_unique<State>();
  for (const std::string& text : ports) {
    const size_t colon = text.find(':');
    const std::string remote = colon == text.npos ? text : text.substr(colon + 1);
    const std::optional<int> port = ParsePort(remote, 1);
    if (!port || (colon != text.npos && !ParsePort(text.substr(0, colon), 0))) {
      return UsageError(
          absl::StrCat("--publish: expected [LOCAL_PORT:]PORT, found \"", text, "\""));
    }
    DET_ASSIGN_OR_RETURN(
        TunnelListener listener,
        OpenListener("publish", colon == text.npos ? text : text.substr(0, colon)));
    state->ports.push_back({*port, std::move(listener)});
  }
  return PublishedPorts(std::move(state));
}

void PublishedPorts::Start(Invocation& run, const ApiClient& api, int experiment) {
  if (state_->ports.empty()) return;
  state_->starting = std::thread([&state = *state_, &run, &api, experiment] {
    const auto report = [&run](const absl::Status& status) {
      run.screen->PrintNotice(absl::StrCat("det: published port: ", status.message()));
    };
    const absl::StatusOr<std::string> task = GetFirstTask(api, experiment);
    if (!task.ok()) {
      if (!absl::IsCancelled(task.status())) report(task.status());
      return;
    }
    if (task->empty()) return;
    const absl::StatusOr<Connection> connection = run.FindConnection();
    for (State::Port& port : state.ports) {
      const std::string service = absl::StrCat(*task, ":", port.remote);
      const absl::StatusOr<TunnelTarget> target =
          connection.ok() ? MakeTunnelTarget(*connection, service, /*authenticate=*/true)
                          : connection.status();
      if (!target.ok()) return report(target.status());
      run.screen->PrintNotice(
          absl::StrCat("port ", port.listener.port(), " of this machine leads to ", service));
      state.serving.emplace_back([&listener = port.listener, target = *target, report] {
        listener.Serve(target, report).IgnoreError();  // Only an interrupt, which others observe.
      });
    }
  });
}

// ---- the table of commands ----

std::vector<Command> TunnelCommands() {
  const Option listener = {"listener", 0, "[ADDRESS:]PORT",
                           "Accept TCP connections here instead of relaying stdin and stdout"};
  return {
      {{"task", "tunnel"},
       "Connect to a TCP port of a task",
       {{"TASK", "Task ID, or TASK:PORT for a port of environment.proxy_ports"}},
       {listener},
       RunTaskTunnel,
       "Without --listener, stdin and stdout are relayed, as a ProxyCommand of ssh needs. The "
       "default address is 127.0.0.1; with port 0 a free port is chosen."},
      {{"tunnel"},
       "Connect to a TCP service of a task, such as a shell",
       {{"MASTER", "Master URL"}, {"SERVICE", "ID of a shell, or TASK:PORT"}},
       {listener,
        {"auth", 0, "", "Send your token; the services of shells need none"},
        {"cert-file", 0, "FILE", "Trusted certificates of the master (PEM), or noverify"},
        {"cert-name", 0, "NAME", "Expected name in the master's certificate"}},
       RunTunnel,
       "`det shell ssh-config` writes this command as ProxyCommand. `det task tunnel` is for "
       "users: it uses the master and the user of the other commands."},
  };
}

}  // namespace det::cli
