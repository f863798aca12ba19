#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/checkpoint/state_dict.h"
#include "worker/checkpoint/unpickler.h"

namespace ddp {

namespace {

using Kind = PickledValue::Kind;

constexpr const char* kWrappers[] = {"state_dict", "model_state_dict", "model", "module", "weights"};

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(what); }

std::string Shown(const PickledValue& key) {
  if (key.kind == Kind::kText) return absl::StrCat("\"", EscapeControls(CutUtf8(key.text, 100)), "\"");
  return key.kind == Kind::kInt ? absl::StrCat(key.number) : absl::StrCat("a ", KindName(key));
}

bool HoldsTensors(const Pickled& pickled, const PickledValue& dict) {
  if (dict.kind != Kind::kDict) return false;
  for (size_t i = 1; i < dict.items.size(); i += 2) {
    if (pickled.values[dict.items[i]].kind == Kind::kTensor) return true;
  }
  return false;
}

// The one dict of tensors that the file is about.
absl::StatusOr<const PickledValue*> Choose(const Pickled& pickled) {
  const PickledValue& root = pickled.values[pickled.root];
  if (root.kind != Kind::kDict) {
    return Wrong(absl::StrCat("holds a ", KindName(root), ", no state_dict (a dict of tensors by name)"));
  }
  if (HoldsTensors(pickled, root)) return &root;
  std::vector<std::string> found;
  std::vector<std::string> keys;
  const PickledValue* chosen = nullptr;
  for (size_t i = 0; i < root.items.size(); i += 2) {
    const PickledValue& key = pickled.values[root.items[i]];
    const PickledValue& inner = pickled.values[root.items[i + 1]];
    if (keys.size() < 10) keys.push_back(Shown(key));
    for (const char* wrapper : kWrappers) {
      if (key.kind != Kind::kText || key.text != wrapper || !HoldsTensors(pickled, inner)) continue;
      found.push_back(Shown(key));
      chosen = &inner;
    }
  }
  if (found.size() > 1) {
    return Wrong(
        absl::StrCat("holds several state_dicts: ", absl::StrJoin(found, ", "), "; save the one that is meant"));
  }
  if (chosen == nullptr) {
    return Wrong(absl::StrCat("holds no state_dict: neither tensors by name, nor a dict of them under \"",
                              absl::StrJoin(kWrappers, "\", \""), "\"; its keys are ",
                              keys.empty() ? std::string("none") : absl::StrJoin(keys, ", ")));
  }
  return chosen;
}

}  // namespace

absl::StatusOr<std::vector<StoredTensor>> ReadStateDict(std::string_view pickle) {
  DDP_ASSIGN_OR_RETURN(const Pickled pickled, Unpickle(pickle));
  DDP_ASSIGN_OR_RETURN(const PickledValue* const dict, Choose(pickled));
  std::vector<StoredTensor> tensors;
  std::set<std::string> names;
  for (size_t i = 0; i < dict->items.size(); i += 2) {
    const PickledValue& key = pickled.values[dict->items[i]];
    const PickledValue& value = pickled.values[dict->items[i + 1]];
    if (key.kind != Kind::kText) return Wrong(absl::StrCat("the key ", Shown(key), " is no tensor's name"));
    if (!IsValidUtf8(key.text)) return Wrong(absl::StrCat("the name ", Shown(key), " is not UTF-8"));
    if (key.text == "__metadata__") return Wrong("a tensor cannot be called __metadata__");
    if (value.kind != Kind::kTensor) {
      return Wrong(absl::StrCat(Shown(key), " is a ", KindName(value), ", no tensor; save model.state_dict() alone"));
    }
    if (!names.insert(key.text).second) return Wrong(absl::StrCat("the name ", Shown(key), " stands twice"));
    tensors.push_back(pickled.tensors[static_cast<size_t>(value.number)]);
    tensors.back().name = key.text;
  }
  return tensors;
}

}  // namespace ddp
