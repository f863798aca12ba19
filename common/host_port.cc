#include "common/host_port.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace ddp {

bool HostPort::is_loopback() const { return host == "127.0.0.1" || host == "localhost" || host == "::1"; }

std::string HostPort::ToString() const {
  return host.find(':') == std::string::npos ? absl::StrCat(host, ":", port) : absl::StrCat("[", host, "]:", port);
}

absl::StatusOr<HostPort> ParseHostPort(const std::string& flag, const std::string& text) {
  const auto wrong = [&] {
    return absl::InvalidArgumentError(absl::StrCat(flag, " must be HOST:PORT, got \"", text, "\""));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong();
  HostPort result{.host = text.substr(0, colon)};
  if (!absl::SimpleAtoi(text.substr(colon + 1), &result.port) || result.port < 0 || result.port > 65535) return wrong();
  const bool brackets = result.host.front() == '[' && result.host.back() == ']';
  if (brackets) result.host = result.host.substr(1, result.host.size() - 2);
  // An IPv6 address without brackets could mean anything.
  if (brackets != (result.host.find(':') != std::string::npos)) return wrong();
  return result;
}

}  // namespace ddp
