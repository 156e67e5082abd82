// What the proxy carries, with real sockets.
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "master/gateway/testing/proxy_fixture.h"
#include <boost/asio/read.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>

namespace det::gateway {
namespace {

namespace websocket = boost::beast::websocket;
using boost::system::error_code;

// Reads a message of this client's websocket.
template <class Socket>
std::string ReadMessage(Socket& socket) {
  boost::beast::flat_buffer buffer;
  socket.read(buffer);
  return boost::beast::buffers_to_string(buffer.data());
}

TEST_F(ProxyTest, ForwardsTheWholePathAndQuery) {
  Run(Target::EchoHeads);
  const HttpResponse response = Get("/proxy/task:8000/a%2Fb/../c?x=1&token=t");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(state_->name, "task:8000");
  EXPECT_TRUE(response.body.starts_with("GET /proxy/task:8000/a%2Fb/../c?x=1&token=t HTTP/1.1\r\n"))
      << response.body;
}

TEST_F(ProxyTest, KeepsTheHostAndAddsForwardingHeaders) {
  Run(Target::EchoHeads);
  const std::string head = Get("/proxy/task/", "X-Forwarded-For: 9.9.9.9\r\n").body;
  EXPECT_NE(head.find("Host: m\r\n"), std::string::npos);
  EXPECT_NE(head.find("X-Forwarded-For: 9.9.9.9, 127.0.0.1\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("X-Real-IP: 127.0.0.1\r\n"), std::string::npos);
  EXPECT_NE(head.find("X-Forwarded-Proto: http\r\n"), std::string::npos);
  EXPECT_NE(head.find("X-Forwarded-Host: m\r\n"), std::string::npos);
}

TEST_F(ProxyTest, ServesSeveralRequestsOnOneConnectionAndReusesTheProgramsConnection) {
  Run(Target::EchoHeads);
  tcp::socket socket = Connect();
  for (int i = 0; i < 5; ++i) {
    Send(socket, "GET /proxy/task/ HTTP/1.1\r\nHost: m\r\n\r\n");
    EXPECT_EQ(Receive(socket).status, 200);
  }
  EXPECT_EQ(target_->connections(), 1);
}

TEST_F(ProxyTest, ConnectsAgain_WhenTheProgramHasClosedItsConnection) {
  Run([](Target::Socket& socket) {
    Target::ReadHead(socket);
    Target::Send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Get("/proxy/task/").body, "ok");
  EXPECT_EQ(target_->connections(), 3);
}

TEST_F(ProxyTest, AnswersHeadRequestsWithoutABody) {
  Run(Target::EchoHeads);
  tcp::socket socket = Connect();
  Send(socket, "HEAD /proxy/task/ HTTP/1.1\r\nHost: m\r\n\r\n");
  HttpResponse response = Receive(socket, /*head=*/true);
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.headers["Content-Length"], "0");
  Send(socket, "GET /proxy/task/ HTTP/1.1\r\nHost: m\r\n\r\n");
  EXPECT_EQ(Receive(socket).status, 200);
}

TEST_F(ProxyTest, PassesOnResponsesWithoutABody) {
  Run([](Target::Socket& socket) {
    while (!Target::ReadHead(socket).empty()) {
      Target::Send(socket, "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 7\r\n\r\n");
    }
  });
  tcp::socket socket = Connect();
  for (int i = 0; i < 2; ++i) {
    Send(socket, "GET /proxy/task/ HTTP/1.1\r\nHost: m\r\n\r\n");
    HttpResponse response = Receive(socket);
    EXPECT_EQ(response.status, 304);
    EXPECT_EQ(response.headers["ETag"], "\"1\"");
  }
}

TEST_F(ProxyTest, SkipsInterimResponses) {
  Run([](Target::Socket& socket) {
    Target::ReadHead(socket);
    Target::Send(socket,
                 "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  EXPECT_EQ(Get("/proxy/task/").body, "ok");
}

TEST_F(ProxyTest, PassesOnABodyThatEndsWithTheConnection) {
  Run([](Target::Socket& socket) {
    Target::ReadHead(socket);
    Target::Send(socket, "HTTP/1.0 200 OK\r\n\r\nall of it");
  });
  tcp::socket socket = Connect();
  Send(socket, "GET /proxy/task/ HTTP/1.1\r\nHost: m\r\n\r\n");
  HttpResponse response = Receive(socket);
  EXPECT_EQ(response.body, "all of it");
  EXPECT_EQ(response.headers["Transfer-Encoding"], "chunked");
}

TEST_F(ProxyTest, SendsAClientOfHttp10ABodyThatEndsWithTheConnection) {
  Run([](Target::Socket& socket) {
    Target::ReadHead(socket);
    Target::Send(socket,
                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "2\r\nab\r\n1;x=y\r\nc\r\n0\r\nTrailer: x\r\n\r\n");
  });
  tcp::socket socket = Connect();
  Send(socket, "GET /proxy/task/ HTTP/1.0\r\n\r\n");
  const std::string text = ReadAll(socket);
  EXPECT_TRUE(text.starts_with("HTTP/1.0 200 OK\r\n")) << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\nabc")) << text;
  EXPECT_EQ(text.find("chunked"), std::string::npos);
}

TEST_F(ProxyTest, SendsEachServerSentEventAtOnce) {
  std::promise<void> next;
  Run([&](Target::Socket& socket) {
    Target::ReadHead(socket);
    Target::Send(socket,
                 "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: first\n\n");
    next.get_future().wait();
    Target::Send(socket, "data: second\n\n");
  });
  tcp::socket socket = Connect();
  Send(socket, "GET /proxy/task/ HTTP/1.1\r\nHost: m\r\n\r\n");
  // The program sends the second event only after the client has the first one.
  EXPECT_NE(ReadUntil(socket, "data: first\n\n").find("text/event-stream"), std::string::npos);
  next.set_value();
  EXPECT_NE(ReadUntil(socket, "data: second\n\n"), "");
}

TEST_F(ProxyTest, UploadsAndDownloadsLargeBodies) {
  Run(Target::EchoBodies);
  std::string body(20 << 20, 'x');
  for (size_t i = 0; i < body.size(); i += 4096) body[i] = static_cast<char>('a' + i / 4096 % 26);
  tcp::socket socket = Connect();
  std::thread sender([&] {
    Send(socket, "POST /proxy/task/ HTTP/1.1\r\nHost: m\r\nContent-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n" + body);
  });
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  http::read(socket, buffer, parser);
  sender.join();
  EXPECT_TRUE(parser.get().body() == body);
  EXPECT_EQ(parser.get()["X-Was-Chunked"], "no");
}

TEST_F(ProxyTest, UploadsChunkedBodiesAndKeepsTheConnection) {
  Run(Target::EchoBodies);
  tcp::socket socket = Connect();
  for (int i = 0; i < 2; ++i) {
    Send(socket,
         "POST /proxy/task/ HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\n"
         "3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n");
    HttpResponse response = Receive(socket);
    EXPECT_EQ(response.body, "abcde");
    EXPECT_EQ(response.headers["X-Was-Chunked"], "yes");
  }
}

TEST_F(ProxyTest, AllowsABodyThatWaitsForPermission) {
  Run(Target::EchoBodies);
  tcp::socket socket = Connect();
  Send(socket,
       "PUT /proxy/task/ HTTP/1.1\r\nHost: m\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(ReadUntil(socket, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  Send(socket, "ok");
  EXPECT_EQ(Receive(socket).body, "ok");
}

TEST_F(ProxyTest, PassesOnAResponseToAPartOfTheBody) {
  Run([](Target::Socket& socket) {
    Target::ReadHead(socket);
    char part[4];
    asio::read(socket, asio::buffer(part));
    Target::Send(socket, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
  });
  tcp::socket socket = Connect();
  Send(socket, "POST /proxy/task/ HTTP/1.1\r\nHost: m\r\nContent-Length: 1000000\r\n\r\npart");
  HttpResponse response = Receive(socket);
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(response.body, "big");
  EXPECT_EQ(response.headers["Connection"], "close");
}

TEST_F(ProxyTest, ClosesTheProgramsConnection_WhenTheClientDisconnects) {
  std::promise<void> closed;
  Run([&](Target::Socket& socket) {
    Target::ReadHead(socket);
    Target::Send(socket, "HTTP/1.1 200 OK\r\n\r\nstarted");
    EXPECT_EQ(Target::ReadHead(socket), "");
    closed.set_value();
  });
  {
    tcp::socket socket = Connect();
    Send(socket, "GET /proxy/task/ HTTP/1.1\r\nHost: m\r\n\r\n");
    ReadUntil(socket, "started");
  }
  closed.get_future().wait();
}

TEST_F(ProxyTest, CutsTheResponse_WhenTheProgramDoes) {
  Run([](Target::Socket& socket) {
    Target::ReadHead(socket);
    Target::Send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart");
  });
  tcp::socket socket = Connect();
  Send(socket, "GET /proxy/task/ HTTP/1.1\r\nHost: m\r\n\r\n");
  EXPECT_TRUE(ReadAll(socket).ends_with("\r\n\r\npart"));
}

TEST_F(ProxyTest, RespondsBadGateway_WhenNobodyListens) {
  Run(Target::EchoHeads);
  state_->service.dial = [](auto reply) {
    reply(absl::UnavailableError("nobody listens on 8000"));
  };
  const HttpResponse response = Get("/proxy/task:8000/");
  EXPECT_EQ(response.status, 502);
  EXPECT_NE(response.body.find("task:8000: nobody listens on 8000"), std::string::npos)
      << response.body;
}

TEST_F(ProxyTest, RespondsBadGateway_WhenTheProgramDoesNotSpeakHttp) {
  Run([](Target::Socket& socket) {
    Target::ReadHead(socket);
    Target::Send(socket, "SSH-2.0-x\r\n\r\n\r\n");
  });
  EXPECT_EQ(Get("/proxy/task/").status, 502);
  Run([](Target::Socket& socket) { Target::ReadHead(socket); });
  EXPECT_EQ(Get("/proxy/task/").status, 502);
}

TEST_F(ProxyTest, RelaysWebsocketsWithTheirSubprotocols) {
  Run([](Target::Socket& socket) {
    boost::beast::flat_buffer buffer;
    http::request<http::string_body> request;
    http::read(socket, buffer, request);
    EXPECT_EQ(request["Sec-WebSocket-Protocol"], "v1.kernel.websocket.jupyter.org");
    EXPECT_EQ(request.target(), "/proxy/task/api/kernels/1/channels?session_id=2");
    websocket::stream<Target::Socket&> server(socket);
    server.set_option(websocket::stream_base::decorator([](websocket::response_type& response) {
      response.set("Sec-WebSocket-Protocol", "v1.kernel.websocket.jupyter.org");
    }));
    server.accept(request);
    error_code error;
    while (!error) {
      boost::beast::flat_buffer message;
      server.read(message, error);
      server.binary(server.got_binary());
      if (!error) server.write(message.data(), error);
    }
    EXPECT_EQ(error, websocket::error::closed);
  });
  websocket::stream<tcp::socket> client(Connect());
  websocket::response_type response;
  client.set_option(websocket::stream_base::decorator([](websocket::request_type& request) {
    request.set("Sec-WebSocket-Protocol", "v1.kernel.websocket.jupyter.org");
  }));
  client.handshake(response, "m", "/proxy/task/api/kernels/1/channels?session_id=2");
  EXPECT_EQ(response["Sec-WebSocket-Protocol"], "v1.kernel.websocket.jupyter.org");
  client.write(asio::buffer(std::string("text")));
  EXPECT_EQ(ReadMessage(client), "text");
  const std::string large(1 << 20, 'b');
  client.binary(true);
  client.write(asio::buffer(large));
  EXPECT_EQ(ReadMessage(client), large);
  client.close(websocket::close_code::normal);
}

TEST_F(ProxyTest, PassesOnTheRefusalOfAWebsocket) {
  Run([](Target::Socket& socket) {
    Target::ReadHead(socket);
    Target::Send(socket, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
  });
  websocket::stream<tcp::socket> client(Connect());
  websocket::response_type response;
  error_code error;
  client.handshake(response, "m", "/proxy/task/", error);
  EXPECT_EQ(error, websocket::error::upgrade_declined);
  EXPECT_EQ(response.result_int(), 403U);
}

class TcpServiceTest : public ProxyTest {
 protected:
  TcpServiceTest() { state_->service.is_tcp = true; }

  static void Echo(Target::Socket& socket) {
    std::string piece(64 << 10, ' ');
    error_code error;
    while (!error) {
      const size_t got = socket.read_some(asio::buffer(piece), error);
      if (!error) asio::write(socket, asio::buffer(piece, got), error);
    }
  }
};

TEST_F(TcpServiceTest, EchoesTenMebibytes) {
  Run(Echo);
  websocket::stream<tcp::socket> client(Connect());
  client.handshake("m", "/proxy/task:6000/");
  std::string sent(10 << 20, ' ');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7 + i / 1000);
  client.binary(true);
  client.write_buffer_bytes(64 << 10);
  std::thread writer([&] { client.write(asio::buffer(sent)); });
  std::string received;
  while (received.size() < sent.size()) received += ReadMessage(client);
  writer.join();
  EXPECT_TRUE(client.got_binary());
  EXPECT_TRUE(received == sent);
  client.close(websocket::close_code::normal);
}

TEST_F(TcpServiceTest, ClosesTheWebsocket_WhenTheProgramCloses) {
  Run([](Target::Socket& socket) { Target::Send(socket, "bye"); });
  websocket::stream<tcp::socket> client(Connect());
  client.handshake("m", "/proxy/task:6000/");
  EXPECT_EQ(ReadMessage(client), "bye");
  boost::beast::flat_buffer buffer;
  error_code error;
  client.read(buffer, error);
  EXPECT_EQ(error, websocket::error::closed);
  EXPECT_EQ(client.reason().code, websocket::close_code::normal);
}

TEST_F(TcpServiceTest, ClosesTheProgramsConnection_WhenTheClientCloses) {
  std::promise<void> closed;
  Run([&](Target::Socket& socket) {
    Echo(socket);
    closed.set_value();
  });
  websocket::stream<tcp::socket> client(Connect());
  client.handshake("m", "/proxy/task:6000/");
  client.close(websocket::close_code::normal);
  closed.get_future().wait();
}

TEST_F(TcpServiceTest, EndsInputOfProgramOnly_WhenTheClientSendsAnEmptyMessage) {
  Run([](Target::Socket& socket) {
    std::string all;
    error_code error;
    asio::read(socket, asio::dynamic_buffer(all), error);  // to the end
    Target::Send(socket, "got " + all);
  });
  websocket::stream<tcp::socket> client(Connect());
  client.handshake("m", "/proxy/task:6000/");
  client.binary(true);
  client.write(asio::buffer(std::string("all")));
  client.write(asio::const_buffer());
  EXPECT_EQ(ReadMessage(client), "got all");
}

TEST_F(TcpServiceTest, IgnoresTextFrames) {
  Run(Echo);
  websocket::stream<tcp::socket> client(Connect());
  client.handshake("m", "/proxy/task:6000/");
  client.text(true);
  client.write(asio::buffer(std::string("ignored")));
  client.binary(true);
  client.write(asio::buffer(std::string("echoed")));
  EXPECT_EQ(ReadMessage(client), "echoed");
}

TEST_F(TcpServiceTest, RefusesOtherRequestsThanWebsockets) {
  Run(Echo);
  EXPECT_EQ(Get("/proxy/task:6000/").status, 400);
  EXPECT_EQ(target_->connections(), 0);
}

TEST_F(TcpServiceTest, RefusesPagesOfOtherOrigins) {
  Run(Echo);
  websocket::stream<tcp::socket> client(Connect());
  client.set_option(websocket::stream_base::decorator(
      [](websocket::request_type& request) { request.set("Origin", "http://evil.example"); }));
  websocket::response_type response;
  error_code error;
  client.handshake(response, "m", "/proxy/task:6000/", error);
  EXPECT_EQ(response.result_int(), 403U);
  EXPECT_EQ(target_->connections(), 0);
}

TEST_F(TcpServiceTest, RespondsBadGatewayBeforeTheUpgrade_WhenNobodyListens) {
  Run(Echo);
  state_->service.dial = [](auto reply) { reply(absl::UnavailableError("nobody listens")); };
  websocket::stream<tcp::socket> client(Connect());
  websocket::response_type response;
  error_code error;
  client.handshake(response, "m", "/proxy/task:6000/", error);
  EXPECT_EQ(response.result_int(), 502U);
}

}  // namespace
}  // namespace det::gateway
