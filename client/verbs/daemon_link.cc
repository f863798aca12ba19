#include "client/verbs/daemon_link.h"

#include <utility>

#include "absl/time/clock.h"
#include "client/exit_codes.h"

namespace ddp {

namespace {
constexpr absl::Duration kReconnect = absl::Seconds(60);
constexpr absl::Duration kEvery = absl::Milliseconds(200);
}  // namespace

void DaemonLink::Mend(const grpc::Status& status, const std::function<void(const std::string& line)>& say) {
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) throw ErrorOf(status);
  if (lost_ == absl::InfinitePast()) {
    lost_ = absl::Now();
    say("the connection to the daemon is lost; the job goes on; looking for the daemon ...");
  }
  if (absl::Now() - lost_ > kReconnect) throw ErrorOf(status);
  absl::SleepFor(kEvery);
  if (std::unique_ptr<Connection> found = Connection::Find(options_)) later_ = std::move(found);
}

}  // namespace ddp
