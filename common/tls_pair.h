// A certificate with its private key.
#ifndef DDP_COMMON_TLS_PAIR_H_
#define DDP_COMMON_TLS_PAIR_H_

#include <string>

namespace ddp {

struct TlsPair {
  std::string certificate_pem;  // with the chain behind it
  std::string key_pem;
};

}  // namespace ddp

#endif  // DDP_COMMON_TLS_PAIR_H_
