// A callback's one call as something a coroutine awaits.
//
// Used inside gateway alone, by coroutines on its threads.
#ifndef MASTER_GATEWAY_AWAIT_H_
#define MASTER_GATEWAY_AWAIT_H_

#include <memory>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace det::gateway {

// Awaits the one call of the function that `start` is given; it may come from any thread.
template <class T, class Start>
boost::asio::awaitable<T> Await(Start start) {
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void(T)>(
      [](auto handler, Start run) {
        auto held = std::make_shared<decltype(handler)>(std::move(handler));
        run([held](T value) {
          auto executor = boost::asio::get_associated_executor(*held);
          boost::asio::post(executor, [held, value = std::move(value)]() mutable {
            auto resume = std::move(*held);
            resume(std::move(value));
          });
        });
      },
      boost::asio::use_awaitable, std::move(start));
}

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_AWAIT_H_
