#include "base/io_thread.h"

#include <pthread.h>

#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace det::base {

struct IoThread::Running {
  explicit Running(boost::asio::io_context& context)
      : work(context.get_executor()), thread([&context] { context.run(); }) {}

  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  std::thread thread;
};

IoThread::IoThread(const std::string& name)
    : context_(std::make_shared<boost::asio::io_context>(1)),
      running_(std::make_unique<Running>(*context_)) {
  ::pthread_setname_np(running_->thread.native_handle(), name.substr(0, 15).c_str());
}

IoThread::~IoThread() { Stop(); }

void IoThread::Stop() {
  if (running_ == nullptr) return;
  running_->work.reset();
  running_->thread.join();
  running_.reset();
}

}  // namespace det::base
