// The environment variables of a task, as docs/task_environment.md promises them.
// Called by ProcessDriver on a task's thread. Reads nothing but its arguments.
#ifndef AGENT_DRIVER_TASK_ENV_H_
#define AGENT_DRIVER_TASK_ENV_H_

#include <map>
#include <string>
#include <vector>

#include "agent/core/task.h"

namespace det::agent {

// How tasks know their master, if they meet it over TLS.
struct HostTls {
  bool on = false;
  std::string authority;    // PEM; empty: the system's authorities
  std::string master_name;  // in its certificate; empty: as in its address
};

// What all tasks of this agent are told.
struct Host {
  std::string agent_id;
  std::string cluster_id;
  std::string master_url;  // http(s)://host:port, of the one that the agent is connected to
  std::string masters;     // all of them, with commas between
  std::string master_host;
  int master_port = 0;
  std::string address;
  std::string sdk_dir;     // empty: none
  std::string python_dir;  // with our Python packages; empty: none
  std::string cache_dir;
  std::vector<Device> devices;
  HostTls tls;
};

struct TaskFolders {
  std::string work;
  std::string run;
};

// "NAME=value" each. `inherited` is the agent's own environment: of it a task gets what concerns
// the machine (PATH, HOME, LANG, proxies, library paths), and nothing else.
std::vector<std::string> TaskEnv(const TaskSpec& spec, const Host& host, const TaskFolders& folders,
                                 const std::map<std::string, std::string>& inherited);

// Below TaskFolders::run: where a task with DET_MASTER_CERT_FILE finds HostTls::authority.
inline constexpr char kMasterCertificate[] = "master.crt";

// The process environment as a map.
std::map<std::string, std::string> OwnEnv();

}  // namespace det::agent

#endif  // AGENT_DRIVER_TASK_ENV_H_
