// A window of a list.
#ifndef MASTER_STORE_INTERFACES_WINDOW_H_
#define MASTER_STORE_INTERFACES_WINDOW_H_

namespace det::store {

// A limit of 0 is everything, a negative offset counts from the end.
struct Window {
  int offset = 0;
  int limit = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_WINDOW_H_
