#include "master/store/postgres/agent_user_rows.h"

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"

namespace det::store {

absl::StatusOr<std::optional<AgentUser>> ToAgentUser(const Result& result, int row, int column) {
  if (result.IsNull(row, column)) return std::optional<AgentUser>();
  DET_ASSIGN_OR_RETURN(const model::Value value, ToValue(result, row, column));
  AgentUser user;
  const auto number = [&](const char* key) {
    const model::Value* found = value.Find(key);
    return found == nullptr || found->AsInt() == nullptr ? 0 : static_cast<int>(*found->AsInt());
  };
  const auto text = [&](const char* key) {
    const model::Value* found = value.Find(key);
    return found == nullptr || found->AsString() == nullptr ? "" : *found->AsString();
  };
  user.uid = number("uid");
  user.gid = number("gid");
  user.user = text("user");
  user.group = text("group");
  return std::optional(user);
}

Param ToParam(const std::optional<AgentUser>& user) {
  if (!user) return Param{};
  model::Value::Object object;
  object["uid"] = user->uid;
  object["gid"] = user->gid;
  object["user"] = user->user;
  object["group"] = user->group;
  return ToParam(model::Value(std::move(object)));
}

}  // namespace det::store
