// Builds the environment variables of a task, as documented in docs/task_environment.md. Called by
// ProcessDriver on a task's thread. Reads nothing but its arguments.
#ifndef AGENT_DRIVER_TASK_ENV_H_
#define AGENT_DRIVER_TASK_ENV_H_

#include <map>
#include <string>
#include <vector>

#include "agent/core/task.h"

namespace det::agent {

// How tasks verify their master, if they connect with TLS.
struct HostTls {
  bool on = false;
  std::string authority;    // CA certificates in PEM; empty: the system's CAs
  std::string master_name;  // name in the master's certificate; empty: the host of its address
};

// The data that is the same for all tasks of this agent.
struct Host {
  std::string agent_id;
  std::string cluster_id;
  std::string master_url;  // http(s)://host:port of the master that the agent is connected to
  std::string masters;     // all masters, separated by commas
  std::string master_host;
  int master_port = 0;
  std::string address;
  std::string sdk_dir;     // empty: not installed
  std::string python_dir;  // with the Python packages; empty: not installed
  std::string cli_dir;     // with `det`; empty: not installed
  std::string cache_dir;
  std::vector<Device> devices;
  HostTls tls;
  // Proxies that the agent's configuration sets for tasks, by variable: "https_proxy".
  std::map<std::string, std::string> proxies = {};
};

struct TaskFolders {
  std::string work;
  std::string run;
};

// Returns entries "NAME=value". `inherited` is the environment of the agent, from which a task gets
// only the variables that describe the machine (PATH, HOME, LANG, proxies, library paths).
std::vector<std::string> TaskEnv(const TaskSpec& spec, const Host& host, const TaskFolders& folders,
                                 const std::map<std::string, std::string>& inherited);

// The file below TaskFolders::run that contains HostTls::authority, named by DET_MASTER_CERT_FILE.
inline constexpr char kMasterCertificate[] = "master.crt";

// Returns the environment of this process as a map.
std::map<std::string, std::string> OwnEnv();

}  // namespace det::agent

#endif  // AGENT_DRIVER_TASK_ENV_H_
