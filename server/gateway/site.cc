#include "server/gateway/site.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace ddp {

Site::Site(bool tls, int port, const std::vector<std::string>& names) : tls_(tls) {
  const bool default_port = port == (tls ? 443 : 80);
  for (const std::string name : {"127.0.0.1", "localhost", "[::1]"}) {
    authorities_.insert(absl::StrCat(name, ":", port));
    if (default_port) authorities_.insert(name);
  }
  for (const std::string& given : names) {
    const std::string name = absl::AsciiStrToLower(given);
    authorities_.insert(name);
    const size_t bracket = name.rfind(']');  // of an IPv6 address
    const bool has_port = name.find(':', bracket == std::string::npos ? 0 : bracket) != std::string::npos;
    if (!has_port) authorities_.insert(absl::StrCat(name, ":", port));
  }
}

absl::Status Site::Check(std::optional<std::string_view> host, std::optional<std::string_view> origin) const {
  if (!host) return absl::PermissionDeniedError("the request has no Host header");
  const std::string authority = absl::AsciiStrToLower(std::string(*host));
  if (!authorities_.contains(authority)) {
    return absl::PermissionDeniedError(absl::StrCat("the host \"", EscapeControls(*host),
                                                    "\" is not this daemon's; if it should be, start ddpd with "
                                                    "--web-host ",
                                                    EscapeControls(*host)));
  }
  if (!origin) return absl::OkStatus();
  // Without TLS of our own, a proxy may have taken it off.
  const std::string lower = absl::AsciiStrToLower(std::string(*origin));
  if (lower == "https://" + authority || (!tls_ && lower == "http://" + authority)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("requests from pages of \"", EscapeControls(*origin),
                                                  "\" are refused; only the dashboard's own are served"));
}

}  // namespace ddp
