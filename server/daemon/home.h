// $DDPD_HOME as one running daemon owns it.
#ifndef DDP_SERVER_DAEMON_HOME_H_
#define DDP_SERVER_DAEMON_HOME_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files.h"

namespace ddp {

class Home {
 public:
  // Makes the folder (0700), locks it and makes the token (0600) when there is none. FailedPrecondition names the
  // daemon that has it locked, or says what is wrong with the folder.
  static absl::StatusOr<Home> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::string& token() const { return token_; }

  // Clients find the daemon by these files: the last thing to write at the start, the first to remove at the end.
  // web_address: of the gateway; empty: it is switched off.
  absl::Status PublishAddress(const std::string& address, const std::string& web_address) const;
  void RemoveAddress() const;

 private:
  std::string path_;
  std::string token_;
  UniqueFd lock_;
};

}  // namespace ddp

#endif  // DDP_SERVER_DAEMON_HOME_H_
