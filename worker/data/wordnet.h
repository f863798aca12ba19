// The glosses of WordNet 3.0, from Debian's package wordnet-base.
#ifndef DDP_WORKER_DATA_WORDNET_H_
#define DDP_WORKER_DATA_WORDNET_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "worker/data/raw_samples.h"

namespace ddp {

inline constexpr char kWordnetFolder[] = "/usr/share/wordnet";

// The files of a part ("": of all), in the order in which they are read.
std::vector<std::string> WordnetFiles(const std::string& folder, std::string_view part);

// One sample for each synset: its gloss; label = its lexicographer file ("noun.act"). part: "" (noun, verb, adj and
// adv, in this order), or one of them; label_names are then the lexicographer files of these parts, in the order of
// their numbers. Stops after max_rows. NotFound, naming the package, when it is not installed; InvalidArgument
// "FILE:LINE: ..." for a line that is not WordNet's.
absl::StatusOr<RawSamples> ReadWordnet(const std::string& folder, std::string_view part, int64_t max_rows,
                                       const StopCheck& should_stop);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_WORDNET_H_
