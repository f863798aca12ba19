// What may stand behind an option, for shells that complete it.
#ifndef DDP_CLIENT_COMPLETION_OFFERS_H_
#define DDP_CLIENT_COMPLETION_OFFERS_H_

#include <map>
#include <string>

namespace CLI {
class Option;
}

namespace ddp {

// Separated by "|": words as they are typed, and FILE, FOLDER and JOB for any of them.
using Offers = std::map<const CLI::Option*, std::string>;

}  // namespace ddp

#endif  // DDP_CLIENT_COMPLETION_OFFERS_H_
