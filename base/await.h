// Helpers for coroutines: awaiting a callback, and operations that return errors instead of
// throwing.
//
// Used by coroutines, on the threads of their executor.
#ifndef BASE_AWAIT_H_
#define BASE_AWAIT_H_

#include <memory>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

namespace det::base {

// Completion token that stores the error instead of throwing.
inline auto Catch(boost::system::error_code& error) {
  return boost::asio::redirect_error(boost::asio::use_awaitable, error);
}

// Calls `start` with a callback and awaits its single call, which may come from any thread. That
// thread may still use the executor after the coroutine has resumed; `kept` keeps the executor
// alive.
template <class T, class Start>
boost::asio::awaitable<T> Await(Start start, std::shared_ptr<boost::asio::io_context> kept) {
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void(T)>(
      [](auto handler, Start run, std::shared_ptr<boost::asio::io_context> io) {
        auto held = std::make_shared<decltype(handler)>(std::move(handler));
        run([io = std::move(io), held](T value) {
          auto executor = boost::asio::get_associated_executor(*held);
          boost::asio::post(executor, [held, value = std::move(value)]() mutable {
            auto resume = std::move(*held);
            resume(std::move(value));
          });
        });
      },
      boost::asio::use_awaitable, std::move(start), std::move(kept));
}

}  // namespace det::base

#endif  // BASE_AWAIT_H_
