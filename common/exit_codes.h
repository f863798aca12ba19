// Exit codes of ddp-worker, read by ddp-runner.
#ifndef DDP_COMMON_EXIT_CODES_H_
#define DDP_COMMON_EXIT_CODES_H_

namespace ddp {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;    // an exception; may heal on retry
inline constexpr int kExitNoRetry = 65;   // wrong data or config, non-finite loss: a retry cannot heal it
inline constexpr int kExitPeerLost = 76;  // another rank went away: an echo, never the cause

}  // namespace ddp

#endif  // DDP_COMMON_EXIT_CODES_H_
