#include "spec/unknown_field.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "google/protobuf/descriptor.h"

namespace ddp {

std::string UnknownField(const google::protobuf::Descriptor& type, const std::string& name) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  const std::string near = NearestName(name, names);
  return absl::StrCat("unknown field \"", EscapeControls(name), "\"",
                      near.empty() ? absl::StrCat("; known here: ", absl::StrJoin(names, ", "))
                                   : absl::StrCat("; did you mean \"", near, "\"?"));
}

}  // namespace ddp
