#include "master/proxy/task_proxy.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::proxy {
namespace {

// UNAVAILABLE or FAILED_PRECONDITION with a sentence, if nothing answers there now.
absl::Status CheckReady(const Service& service) {
  const std::string& task = service.task.value();
  if (service.has_ended)
    return absl::FailedPreconditionError(absl::StrCat("task ", task, " has ended"));
  if (!service.agent) {
    return absl::UnavailableError(
        absl::StrCat("task ", task, " is not running yet; try again later"));
  }
  if (!service.port) {
    return absl::UnavailableError(
        absl::StrCat("task ", task, " is not ready yet; its log shows the progress"));
  }
  return absl::OkStatus();
}

}  // namespace

void TaskProxy::Open(const std::string& service, ServiceCredentials credentials, Reply reply) {
  auto found = std::make_shared<std::optional<absl::StatusOr<Service>>>();
  parts_.engine->Query(
      [service, found](const cluster::Cluster& cluster) { *found = FindService(cluster, service); },
      [this, service, found, credentials = std::move(credentials),
       reply = std::move(reply)](const absl::Status& status) mutable {
        if (!status.ok()) return reply(status);
        parts_.pool->Post([this, service, found, credentials = std::move(credentials),
                           reply = std::move(reply)]() mutable {
          reply(OpenFound(std::move(*found), service, credentials));
        });
      });
}

absl::StatusOr<OpenedService> TaskProxy::OpenFound(std::optional<absl::StatusOr<Service>> found,
                                                   const std::string& id,
                                                   const ServiceCredentials& credentials) {
  if (!found) found = FindEndedService(*parts_.store, id);
  if (absl::IsNotFound(found->status())) {
    // Only users learn which services exist.
    Service unknown;
    unknown.id = id;
    const absl::Status allowed = access_.Authorize(unknown, credentials);
    return absl::IsUnauthenticated(allowed) ? allowed : found->status();
  }
  DET_ASSIGN_OR_RETURN(const Service service, *std::move(found));
  DET_RETURN_IF_ERROR(access_.Authorize(service, credentials));
  DET_RETURN_IF_ERROR(CheckReady(service));
  parts_.activity->Touch(service.task);
  OpenedService opened;
  DET_ASSIGN_OR_RETURN(opened.use, CountUse(service));
  opened.is_tcp = service.is_tcp;
  opened.connection_key = absl::StrCat(service.allocation.value(), ":", *service.port);
  const Interface interface = service.is_of_kind ? Interface::kLoopback : Interface::kAny;
  opened.dial = [dialer = parts_.dialer, agent = *service.agent, port = *service.port,
                 interface](TaskDialer::Reply reply) {
    dialer->Dial(agent, port, interface, std::move(reply));
  };
  if (service.is_terminal) opened.dial = MakeTerminalDial(service, std::move(opened.dial));
  opened.access_token = GetDetail(service, "access_token");
  const std::string own_token = service.is_of_kind ? GetDetail(service, "token") : "";
  if (!own_token.empty()) opened.headers.emplace_back("Authorization", "token " + own_token);
  return opened;
}

OpenedService::Dial TaskProxy::MakeTerminalDial(const Service& service, OpenedService::Dial dial) {
  ShellLogin login{.user = service.agent_user.empty() ? "root" : service.agent_user,
                   .private_key = GetDetail(service, "private_key"),
                   .public_key = GetDetail(service, "public_key")};
  return [this, dial = std::move(dial), login = std::move(login)](TaskDialer::Reply reply) {
    dial([this, login, reply = std::move(reply)](absl::StatusOr<base::Fd> sshd) mutable {
      if (!sshd.ok()) return reply(sshd.status());
      terminals_.Open(*std::move(sshd), login, std::move(reply));
    });
  };
}

absl::StatusOr<std::shared_ptr<void>> TaskProxy::CountUse(const Service& service) {
  // All services of a task share one count; a terminal has a thread, hence a smaller one.
  const std::string key = service.is_terminal ? service.id : service.task.value();
  const int limit = service.is_terminal ? kMaxTerminals : kMaxConnections;
  std::lock_guard lock(counts_->mutex);
  int& count = counts_->open[key];
  if (count >= limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("task ", service.task.value(), " has ", limit, " open ",
                     service.is_terminal ? "terminals" : "connections", "; close some"));
  }
  ++count;
  return std::shared_ptr<void>(nullptr, [counts = counts_, key](void*) {
    std::lock_guard lock(counts->mutex);
    const auto found = counts->open.find(key);
    if (--found->second == 0) counts->open.erase(found);
  });
}

}  // namespace det::proxy
