// The way to the daemon.
#ifndef DDP_CLIENT_CONNECTION_H_
#define DDP_CLIENT_CONNECTION_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "ddp/v1/checkpoint.grpc.pb.h"
#include "ddp/v1/job.grpc.pb.h"
#include "ddp/v1/live.grpc.pb.h"
#include "ddp/v1/log.grpc.pb.h"
#include "ddp/v1/metric.grpc.pb.h"
#include "ddp/v1/system.grpc.pb.h"

namespace ddp {

struct ConnectionOptions {
  std::string home;        // finds address and token
  std::string address;     // not empty: used instead of the home's, and nothing is started
  std::string tls_ca;      // PEM file of whom to trust; not empty: TLS. An address "https://..." is TLS, too
  std::string token_file;  // not empty: used instead of the home's
  std::string token;       // not empty: used instead of any file
  bool autostart = true;
};

// Not thread-safe, except that contexts and stubs may be used from any thread.
class Connection {
 public:
  // Starts a daemon when none runs and `autostart` allows it. Throws ExitError (kNoDaemon).
  static Connection Open(const ConnectionOptions& options);
  // Never starts one. Null: none answers within the time.
  static std::unique_ptr<Connection> Find(const ConnectionOptions& options, absl::Duration timeout = absl::Seconds(2));

  // With the token; the default deadline is for calls that answer at once.
  std::unique_ptr<grpc::ClientContext> Context(absl::Duration deadline = absl::Seconds(30)) const;

  const std::string& token() const { return token_; }

  v1::JobService::Stub& jobs() { return *jobs_; }
  v1::MetricService::Stub& metrics() { return *metrics_; }
  v1::LogService::Stub& logs() { return *logs_; }
  v1::CheckpointService::Stub& checkpoints() { return *checkpoints_; }
  v1::SystemService::Stub& system() { return *system_; }
  v1::LiveService::Stub& live() { return *live_; }

 private:
  Connection(std::string address, const std::string& tls_ca);
  // False: refused, or nothing that speaks gRPC within the timeout. A killed daemon leaves its address behind, and
  // nobody listens there (or, after a reboot, somebody else): a refusal is believed at once.
  bool Connect(absl::Duration timeout);

  std::string token_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  std::unique_ptr<v1::MetricService::Stub> metrics_;
  std::unique_ptr<v1::LogService::Stub> logs_;
  std::unique_ptr<v1::CheckpointService::Stub> checkpoints_;
  std::unique_ptr<v1::SystemService::Stub> system_;
  std::unique_ptr<v1::LiveService::Stub> live_;
};

}  // namespace ddp

#endif  // DDP_CLIENT_CONNECTION_H_
