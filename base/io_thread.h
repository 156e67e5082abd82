// A thread for coroutines that use sockets. It sleeps while nothing happens.
#ifndef BASE_IO_THREAD_H_
#define BASE_IO_THREAD_H_

#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace det::base {

class IoThread {
 public:
  // `name` is the thread's name; Linux shows its first 15 characters.
  explicit IoThread(const std::string& name);
  ~IoThread();  // Same as Stop().

  // Where to spawn coroutines and to post functions, from any thread. Callbacks may keep it alive.
  const std::shared_ptr<boost::asio::io_context>& context() const { return context_; }

  // Waits until all coroutines have ended, and ends the thread. REQUIRES that the caller makes them
  // end, and that it is not called on this thread.
  void Stop();

 private:
  struct Running;
  const std::shared_ptr<boost::asio::io_context> context_;
  std::unique_ptr<Running> running_;
};

}  // namespace det::base

#endif  // BASE_IO_THREAD_H_
