// Groups of users, created roles, and the roles of groups.
//
// Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_GROUPS_H_
#define MASTER_STORE_INTERFACES_GROUPS_H_

namespace det::store {

class Groups {
 public:
  virtual ~Groups() = default;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_GROUPS_H_
