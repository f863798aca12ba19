// Three spellings of one JobSpec: a YAML file, --set PATH=VALUE, and flags. Later ones win, in this order.
#ifndef DDP_CLIENT_SPEC_BUILDER_H_
#define DDP_CLIENT_SPEC_BUILDER_H_

#include <map>
#include <string>
#include <vector>

#include "ddp/v1/spec.pb.h"

namespace ddp {

// A flag of `ddpctl submit` for a field.
struct SpecFlag {
  const char* flag;   // "--lr"
  const char* field;  // "training.lr"
  const char* help;
  bool repeated;           // may be given several times; else the last one counts
  const char* words = "";  // what may be given, for completion (completion/offers.h); "": see WordsOf
};
// What may be given to the flag; "": no word comes to mind.
std::string WordsOf(const SpecFlag& flag);
const std::vector<SpecFlag>& SpecFlags();
// "--lr" for "training.lr"; "" when the field has no flag. Indices are ignored ("tags[1]").
std::string FlagOf(const std::string& field);

struct SpecInput {
  std::string file;                                             // "": none
  std::vector<std::string> sets;                                // "training.lr=1e-3"
  std::map<std::string, std::vector<std::string>> flag_values;  // by flag, as given
};

// Throws ExitError (kUsage) that names the file and line, the --set, or the flag. Relative paths of files become
// absolute.
v1::JobSpec BuildSpec(const SpecInput& input);

}  // namespace ddp

#endif  // DDP_CLIENT_SPEC_BUILDER_H_
