// As whom tasks run on the nodes: of a user, or of a workspace.
#ifndef MASTER_STORE_INTERFACES_AGENT_USER_H_
#define MASTER_STORE_INTERFACES_AGENT_USER_H_

#include <string>

namespace det::store {

struct AgentUser {
  int uid = 0;
  int gid = 0;
  std::string user;
  std::string group;
  friend bool operator==(const AgentUser&, const AgentUser&) = default;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_AGENT_USER_H_
