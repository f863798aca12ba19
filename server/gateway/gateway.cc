#include "server/gateway/gateway.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/host_port.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "server/gateway/connection.h"

namespace ddp {

namespace {

namespace net = boost::asio;
using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kGoodbye{400};
constexpr std::chrono::milliseconds kGoodbyeStep{10};
constexpr std::chrono::milliseconds kAcceptAgain{100};

absl::StatusOr<tcp::endpoint> Resolve(net::io_context& io, const HostPort& where) {
  tcp::resolver resolver(io);
  error_code error;
  const auto found = resolver.resolve(where.host, absl::StrCat(where.port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--web ", where.ToString(), ": the host cannot be resolved: ", error.message()));
  }
  return found.begin()->endpoint();
}

absl::Status UseCertificate(net::ssl::context& tls, const Gateway::Options& options) {
  error_code error;
  tls.set_options(net::ssl::context::default_workarounds | net::ssl::context::no_sslv2 | net::ssl::context::no_sslv3 |
                      net::ssl::context::no_tlsv1 | net::ssl::context::no_tlsv1_1,
                  error);
  if (!error) tls.use_certificate_chain(net::buffer(options.certificate_pem), error);
  if (error) return absl::InvalidArgumentError("--tls-cert holds no PEM certificate: " + error.message());
  tls.use_private_key(net::buffer(options.key_pem), net::ssl::context::pem, error);
  if (error) {
    return absl::InvalidArgumentError("--tls-key is not the PEM key of the certificate in --tls-cert: " +
                                      error.message());
  }
  return absl::OkStatus();
}

}  // namespace

class Gateway::Loop {
 public:
  explicit Loop(Options options) : options_(std::move(options)), acceptor_(io_), again_(io_), goodbye_(io_) {}

  absl::Status Listen() {
    if (!options_.certificate_pem.empty()) {
      tls_.emplace(net::ssl::context::tls_server);
      DDP_RETURN_IF_ERROR(UseCertificate(*tls_, options_));
    }
    DDP_ASSIGN_OR_RETURN(where_, ParseHostPort("--web", options_.listen));
    if (!tls_ && !where_.is_loopback()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--web ", options_.listen,
          ": only loopback addresses (127.0.0.1, [::1]) are allowed without --tls-cert and --tls-key, since "
          "traffic is not encrypted"));
    }
    DDP_ASSIGN_OR_RETURN(const tcp::endpoint endpoint, Resolve(io_, where_));
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    // A restarted daemon may take its port at once; a port on which somebody listens is refused all the same.
    if (!error) acceptor_.set_option(net::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
    if (error) {
      return absl::InternalError(absl::StrCat("cannot listen on --web ", options_.listen, ": ", error.message()));
    }
    where_.port = acceptor_.local_endpoint().port();
    return absl::OkStatus();
  }

  std::string Url() const { return absl::StrCat(tls_ ? "https://" : "http://", where_.ToString()); }

  void Serve(Backend backend) {
    server_.emplace(WebServer{.limits = options_.limits,
                              .site = Site(tls_.has_value(), where_.port, options_.hosts),
                              .token = options_.token,
                              .stub = grpc::GenericStub(std::move(backend.channel)),
                              .assets = DashboardAssets(),
                              .metrics = std::move(backend.metrics),
                              .run_blocking = std::move(backend.run_blocking),
                              .tls = tls_ ? &*tls_ : nullptr});
    Accept();
    thread_ = std::thread([this] { io_.run(); });
  }

  // The thread ends when nothing is left to do: every connection closed, every call ended.
  ~Loop() {
    if (!thread_.joinable()) return;
    net::post(io_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      again_.cancel();
      // Connections leave the set while they stop.
      ForEach([](Connection& connection) { connection.Stop(); });
      SayGoodbye(std::chrono::steady_clock::now() + kGoodbye);
    });
    thread_.join();
  }

 private:
  template <typename Do>
  void ForEach(Do act) {
    const std::vector<Connection*> all(server_->connections.begin(), server_->connections.end());
    for (Connection* connection : all) act(*connection);
  }

  // Waits until every connection has ended, and closes those that take too long.
  void SayGoodbye(std::chrono::steady_clock::time_point end) {
    if (server_->connections.empty()) return;
    if (std::chrono::steady_clock::now() >= end) {
      ForEach([](Connection& connection) { connection.Close(); });
      return;
    }
    goodbye_.expires_after(kGoodbyeStep);
    goodbye_.async_wait([this, end](error_code) { SayGoodbye(end); });
  }

  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error == net::error::operation_aborted || !acceptor_.is_open()) return;
      if (!error) {
        Take(std::move(socket));
        Accept();
        return;
      }
      // Out of descriptors, most likely: those that are open go on, and their ends make room.
      if (!std::exchange(complained_, true)) LogWarning("the web gateway cannot accept: " + error.message());
      again_.expires_after(kAcceptAgain);
      again_.async_wait([this](error_code cancelled) {
        if (!cancelled) Accept();
      });
    });
  }

  void Take(tcp::socket socket) {
    if (server_->connections.size() < options_.limits.connections) {
      Connection::Serve(std::move(socket), *server_);
    } else if (!std::exchange(complained_, true)) {
      LogWarning(absl::StrCat("the web gateway has ", options_.limits.connections,
                              " connections, the limit; others are closed until some end"));
    }
  }

  const Options options_;
  net::io_context io_{1};
  tcp::acceptor acceptor_;
  net::steady_timer again_;
  net::steady_timer goodbye_;
  std::optional<net::ssl::context> tls_;
  HostPort where_;
  std::optional<WebServer> server_;
  bool complained_ = false;
  std::thread thread_;
};

Gateway::Gateway(std::unique_ptr<Loop> loop, std::string url) : loop_(std::move(loop)), url_(std::move(url)) {}

Gateway::~Gateway() = default;

absl::StatusOr<std::unique_ptr<Gateway>> Gateway::Listen(Options options) {
  auto loop = std::make_unique<Loop>(std::move(options));
  DDP_RETURN_IF_ERROR(loop->Listen());
  std::string url = loop->Url();
  return std::unique_ptr<Gateway>(new Gateway(std::move(loop), std::move(url)));
}

void Gateway::Serve(Backend backend) { loop_->Serve(std::move(backend)); }

}  // namespace ddp
