#include "client/connection.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/daemon_process.h"
#include "client/exit_codes.h"
#include "client/print.h"
#include "common/files.h"

namespace ddp {

namespace {

constexpr char kTls[] = "https://";

std::string Trimmed(const std::string& text) { return std::string(absl::StripAsciiWhitespace(text)); }

std::string ReadToken(const ConnectionOptions& options) {
  if (!options.token.empty()) return options.token;
  const std::string path = options.token_file.empty() ? options.home + "/token" : options.token_file;
  const absl::StatusOr<std::string> text = ReadFile(path, 4096);
  if (!text.ok()) throw ExitError(kRefused, absl::StrCat("no token: ", std::string(text.status().message())));
  return Trimmed(*text);
}

std::shared_ptr<grpc::ChannelCredentials> TlsCredentials(const std::string& ca_file) {
  grpc::SslCredentialsOptions options;
  if (!ca_file.empty()) {
    const absl::StatusOr<std::string> text = ReadFile(ca_file, size_t{4} << 20);
    if (!text.ok()) throw ExitError(kUsage, absl::StrCat("--tls-ca: ", std::string(text.status().message())));
    options.pem_root_certs = *text;
  }
  return grpc::SslCredentials(options);
}

// "": no daemon says that it is there.
std::string ReadAddress(const ConnectionOptions& options) {
  if (!options.address.empty()) return options.address;
  const absl::StatusOr<std::string> text = ReadFile(options.home + "/address", 4096);
  return text.ok() ? Trimmed(*text) : "";
}

}  // namespace

Connection::Connection(std::string address, const std::string& tls_ca) {
  const bool marked = absl::StartsWith(address, kTls);
  const auto credentials = marked || !tls_ca.empty() ? TlsCredentials(tls_ca) : grpc::InsecureChannelCredentials();
  if (marked) address.erase(0, sizeof(kTls) - 1);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  channel_ = grpc::CreateCustomChannel(address, credentials, arguments);
  jobs_ = v1::JobService::NewStub(channel_);
  metrics_ = v1::MetricService::NewStub(channel_);
  logs_ = v1::LogService::NewStub(channel_);
  checkpoints_ = v1::CheckpointService::NewStub(channel_);
  system_ = v1::SystemService::NewStub(channel_);
  live_ = v1::LiveService::NewStub(channel_);
}

std::unique_ptr<grpc::ClientContext> Connection::Context(absl::Duration deadline) const {
  auto context = std::make_unique<grpc::ClientContext>();
  context->AddMetadata("authorization", "Bearer " + token_);
  if (deadline != absl::InfiniteDuration()) context->set_deadline(absl::ToChronoTime(absl::Now() + deadline));
  return context;
}

bool Connection::Connect(absl::Duration timeout) {
  const auto end = absl::ToChronoTime(absl::Now() + timeout);
  grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/true);
  while (state != GRPC_CHANNEL_READY && state != GRPC_CHANNEL_TRANSIENT_FAILURE) {
    if (!channel_->WaitForStateChange(state, end)) return false;
    state = channel_->GetState(/*try_to_connect=*/true);
  }
  return state == GRPC_CHANNEL_READY;
}

std::unique_ptr<Connection> Connection::Find(const ConnectionOptions& options, absl::Duration timeout) {
  const std::string address = ReadAddress(options);
  if (address.empty()) return nullptr;
  std::unique_ptr<Connection> connection(new Connection(address, options.address.empty() ? "" : options.tls_ca));
  if (!connection->Connect(timeout)) return nullptr;
  connection->token_ = ReadToken(options);
  return connection;
}

Connection Connection::Open(const ConnectionOptions& options) {
  if (std::unique_ptr<Connection> found = Find(options)) return std::move(*found);
  if (!options.address.empty())
    throw ExitError(kNoDaemon, absl::StrCat("no daemon answers at ", options.address,
                                            options.tls_ca.empty() ? "" : ", or --tls-ca does not vouch for it"));
  if (!options.autostart) {
    throw ExitError(kNoDaemon, absl::StrCat("no daemon runs with the home ", options.home,
                                            "; start one with: ddpctl daemon start"));
  }
  std::unique_ptr<Connection> started;
  StartDaemon(options.home, [&] { return (started = Find(options)) != nullptr; });
  Say(absl::StrCat("no daemon was running; started one (home ", options.home, ")\n"));
  return std::move(*started);
}

}  // namespace ddp
