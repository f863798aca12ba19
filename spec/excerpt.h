// Text from users inside messages.
#ifndef DDP_SPEC_EXCERPT_H_
#define DDP_SPEC_EXCERPT_H_

#include <string>

namespace ddp {

// In quotes, controls escaped, cut after 100 bytes: a refusal travels in gRPC metadata, which holds 8 KiB in all.
std::string Excerpt(const std::string& text);

}  // namespace ddp

#endif  // DDP_SPEC_EXCERPT_H_
