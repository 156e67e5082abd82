// What coroutines await: a callback's one call, and an operation whose error is no exception.
//
// Used inside gateway alone, by coroutines on its threads.
#ifndef MASTER_GATEWAY_AWAIT_H_
#define MASTER_GATEWAY_AWAIT_H_

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

namespace det::gateway {

// Completion token: what fails is in `error`, and nothing is thrown.
inline auto Catch(boost::system::error_code& error) {
  return boost::asio::redirect_error(boost::asio::use_awaitable, error);
}

// Awaits the one call of the function that `start` is given; it may come from any thread. That
// thread may still be about to leave the executor when the coroutine has long gone on, hence
// `kept`: what the executor needs.
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

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_AWAIT_H_
