#include "worker/checkpoint/unpickler.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/checkpoint/torch_types.h"

namespace ddp {

namespace {

using Kind = PickledValue::Kind;

constexpr size_t kMaxPickle = size_t{64} << 20;
constexpr size_t kMaxValues = 2'000'000;
constexpr size_t kMaxStack = 1'000'000;
constexpr size_t kMaxTensors = 400'000;  // and storages
constexpr size_t kMaxDimensions = 32;
constexpr size_t kMaxStorageName = 100;

constexpr char kOrderedDict[] = "collections.OrderedDict";
constexpr char kRebuildV2[] = "torch._utils._rebuild_tensor_v2";
constexpr char kRebuildV3[] = "torch._utils._rebuild_tensor_v3";
constexpr char kRebuildParameter[] = "torch._utils._rebuild_parameter";
constexpr char kUntypedStorage[] = "torch.storage.UntypedStorage";
constexpr char kTorch[] = "torch.";

bool IsAllowed(const std::string& global) {
  for (const char* name : {kOrderedDict, kRebuildV2, kRebuildV3, kRebuildParameter, kUntypedStorage}) {
    if (global == name) return true;
  }
  if (!absl::StartsWith(global, kTorch)) return false;
  const std::string name = global.substr(sizeof(kTorch) - 1);
  return TypeOfStorage(name) != nullptr || TypeOfName(name) != nullptr;
}

std::string Refusal(const std::string& global) {
  if (absl::StartsWith(global, kTorch) && absl::EndsWith(global, "Storage")) {
    return absl::StrCat(global, ": tensors of this type are not supported");
  }
  return absl::StrCat(global, " is not a tensor's type: this file could run code; refused (save model.state_dict())");
}

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<Pickled> Run() {
    if (bytes_.size() > kMaxPickle) return absl::InvalidArgumentError("a pickle of more than 64 MiB");
    while (!stopped_) {
      op_at_ = at_;
      const absl::Status status = Step();
      if (!status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("byte ", op_at_, ": ", std::string(status.message())));
      }
    }
    return std::move(out_);
  }

 private:
  static absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(what); }
  const PickledValue& value(uint32_t index) const { return out_.values[index]; }

  absl::StatusOr<std::string_view> Take(size_t n) {
    if (n > bytes_.size() - at_) return Wrong("the pickle ends early");
    const std::string_view taken = bytes_.substr(at_, n);
    at_ += n;
    return taken;
  }
  template <typename Number>
  absl::StatusOr<Number> TakeNumber() {
    DDP_ASSIGN_OR_RETURN(const std::string_view taken, Take(sizeof(Number)));
    Number number;
    std::memcpy(&number, taken.data(), sizeof(number));
    return number;
  }
  absl::StatusOr<std::string> TakeLine() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos || end - at_ > 1000) return Wrong("a name without an end");
    std::string line(bytes_.substr(at_, end - at_));
    at_ = end + 1;
    return line;
  }

  absl::Status PushIndex(uint32_t index) {
    if (stack_.size() >= kMaxStack) return Wrong("the stack grows beyond a million values; refused");
    stack_.push_back(index);
    return absl::OkStatus();
  }
  absl::Status Push(PickledValue value) {
    if (out_.values.size() >= kMaxValues) return Wrong("more than two million values; refused");
    out_.values.push_back(std::move(value));
    return PushIndex(static_cast<uint32_t>(out_.values.size() - 1));
  }
  absl::Status PushTensor(Kind kind, StoredTensor tensor) {
    if (out_.tensors.size() >= kMaxTensors) return Wrong("more than 200,000 tensors; refused");
    out_.tensors.push_back(std::move(tensor));
    return Push({.kind = kind, .number = static_cast<int64_t>(out_.tensors.size() - 1)});
  }
  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }
  absl::StatusOr<uint32_t> Pop() {
    if (stack_.size() <= Floor()) return Wrong("a value is missing on the stack");
    const uint32_t index = stack_.back();
    stack_.pop_back();
    return index;
  }
  absl::StatusOr<uint32_t> Top() const {
    if (stack_.size() <= Floor()) return Wrong("a value is missing on the stack");
    return stack_.back();
  }
  absl::StatusOr<std::vector<uint32_t>> PopMark() {
    if (marks_.empty()) return Wrong("a mark is missing");
    std::vector<uint32_t> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  absl::StatusOr<std::vector<uint32_t>> PopN(size_t n) {
    if (stack_.size() < Floor() + n) return Wrong("a value is missing on the stack");
    std::vector<uint32_t> items(stack_.end() - static_cast<std::ptrdiff_t>(n), stack_.end());
    stack_.resize(stack_.size() - n);
    return items;
  }

  absl::Status Step() {
    DDP_ASSIGN_OR_RETURN(const uint8_t op, TakeNumber<uint8_t>());
    switch (op) {
      case 0x80:
        return Protocol();
      case '.':
        return Stop();
      case '(':
        if (marks_.size() >= kMaxStack) return Wrong("more than a million marks; refused");
        marks_.push_back(stack_.size());
        return absl::OkStatus();
      case 'N':
        return Push({.kind = Kind::kNone});
      case 0x88:
      case 0x89:
        return Push({.kind = Kind::kBool, .number = op == 0x88 ? 1 : 0});
      case 'J':
        return PushInt<int32_t>();
      case 'K':
        return PushInt<uint8_t>();
      case 'M':
        return PushInt<uint16_t>();
      case 0x8a:
        return Long();
      case 'G':
        DDP_RETURN_IF_ERROR(Take(8).status());
        return Push({.kind = Kind::kFloat});
      case 'X':
        return Text<uint32_t>();
      case 'U':  // str of Python 2
        return Text<uint8_t>();
      case ')':
        return Push({.kind = Kind::kTuple});
      case ']':
        return Push({.kind = Kind::kList});
      case '}':
        return Push({.kind = Kind::kDict});
      case 0x85:
      case 0x86:
      case 0x87: {
        DDP_ASSIGN_OR_RETURN(std::vector<uint32_t> items, PopN(op - 0x84));
        return Push({.kind = Kind::kTuple, .items = std::move(items)});
      }
      case 't': {
        DDP_ASSIGN_OR_RETURN(std::vector<uint32_t> items, PopMark());
        return Push({.kind = Kind::kTuple, .items = std::move(items)});
      }
      case 'a':
        return Extend(Kind::kList, PopN(1));
      case 'e':
        return Extend(Kind::kList, PopMark());
      case 's':
        return Extend(Kind::kDict, PopN(2));
      case 'u':
        return Extend(Kind::kDict, PopMark());
      case 'q':
        return Put<uint8_t>();
      case 'r':
        return Put<uint32_t>();
      case 'h':
        return Get<uint8_t>();
      case 'j':
        return Get<uint32_t>();
      case 'c':
        return Global();
      case 'Q':
        return PersistentId();
      case 'R':
        return Reduce();
      case 'b':
        return Build();
      default:
        return Wrong(absl::StrFormat("opcode 0x%02x is not one that tensors need; refused", op));
    }
  }

  absl::Status Protocol() {
    DDP_ASSIGN_OR_RETURN(const uint8_t protocol, TakeNumber<uint8_t>());
    if (protocol != 2) return Wrong(absl::StrCat("pickle protocol ", protocol, "; torch.save writes protocol 2"));
    return absl::OkStatus();
  }

  absl::Status Stop() {
    DDP_ASSIGN_OR_RETURN(out_.root, Pop());
    if (!stack_.empty() || !marks_.empty()) return Wrong("values are left on the stack");
    if (at_ != bytes_.size()) return Wrong("bytes follow the end");
    stopped_ = true;
    return absl::OkStatus();
  }

  template <typename Number>
  absl::Status PushInt() {
    DDP_ASSIGN_OR_RETURN(const Number number, TakeNumber<Number>());
    return Push({.kind = Kind::kInt, .number = number});
  }

  absl::Status Long() {
    DDP_ASSIGN_OR_RETURN(const uint8_t n, TakeNumber<uint8_t>());
    DDP_ASSIGN_OR_RETURN(const std::string_view digits, Take(n));
    if (n > 8) return Push({.kind = Kind::kBigInt});
    // Two's complement, little-endian, as short as possible.
    int64_t number = n > 0 && (digits.back() & 0x80) != 0 ? -1 : 0;
    std::memcpy(&number, digits.data(), n);
    return Push({.kind = Kind::kInt, .number = number});
  }

  template <typename Length>
  absl::Status Text() {
    DDP_ASSIGN_OR_RETURN(const Length length, TakeNumber<Length>());
    DDP_ASSIGN_OR_RETURN(const std::string_view text, Take(length));
    return Push({.kind = Kind::kText, .text = std::string(text)});
  }

  absl::Status Extend(Kind kind, absl::StatusOr<std::vector<uint32_t>> items) {
    if (!items.ok()) return items.status();
    DDP_ASSIGN_OR_RETURN(const uint32_t target, Top());
    PickledValue& into = out_.values[target];
    if (into.kind != kind) return Wrong(absl::StrCat("items for a ", KindName(into), "; refused"));
    if (kind == Kind::kDict && items->size() % 2 != 0) return Wrong("a key without a value");
    into.items.insert(into.items.end(), items->begin(), items->end());
    return absl::OkStatus();
  }

  template <typename Number>
  absl::Status Put() {
    DDP_ASSIGN_OR_RETURN(const Number number, TakeNumber<Number>());
    DDP_ASSIGN_OR_RETURN(const uint32_t top, Top());
    if (memo_.size() >= kMaxValues) return Wrong("more than two million values to remember; refused");
    memo_[number] = top;
    return absl::OkStatus();
  }
  template <typename Number>
  absl::Status Get() {
    DDP_ASSIGN_OR_RETURN(const Number number, TakeNumber<Number>());
    const auto found = memo_.find(number);
    if (found == memo_.end()) return Wrong(absl::StrCat("nothing is remembered as ", number));
    return PushIndex(found->second);
  }

  absl::Status Global() {
    DDP_ASSIGN_OR_RETURN(const std::string module, TakeLine());
    DDP_ASSIGN_OR_RETURN(const std::string name, TakeLine());
    std::string global = absl::StrCat(module, ".", name);
    if (!IsAllowed(global)) return Wrong(Refusal(EscapeControls(global)));
    return Push({.kind = Kind::kGlobal, .text = std::move(global)});
  }

  bool Is(uint32_t index, Kind kind) const { return value(index).kind == kind; }

  // ("storage", type, "KEY", "cpu", elements)
  absl::Status PersistentId() {
    DDP_ASSIGN_OR_RETURN(const uint32_t id, Pop());
    const std::vector<uint32_t>& parts = value(id).items;
    if (!Is(id, Kind::kTuple) || parts.size() != 5 || value(parts[0]).text != "storage" ||
        !Is(parts[1], Kind::kGlobal) || !Is(parts[2], Kind::kText) || value(parts[2]).text.size() > kMaxStorageName ||
        !Is(parts[4], Kind::kInt)) {
      return Wrong("no storage of a tensor; refused");
    }
    StoredTensor storage{.storage = value(parts[2]).text};
    const std::string& type = value(parts[1]).text;
    const TorchType* known = absl::StartsWith(type, kTorch) ? TypeOfStorage(type.substr(sizeof(kTorch) - 1)) : nullptr;
    if (known == nullptr && type != kUntypedStorage) return Wrong(absl::StrCat(type, " is no storage"));
    if (known != nullptr) storage.dtype = known->dtype;
    const int64_t elements = value(parts[4]).number;
    const size_t each = known == nullptr ? 1 : DtypeBytes(storage.dtype);
    if (elements < 0 || __builtin_mul_overflow(static_cast<uint64_t>(elements), each, &storage.storage_bytes)) {
      return Wrong("a storage of an impossible size");
    }
    return PushTensor(Kind::kStorage, std::move(storage));
  }

  absl::Status Reduce() {
    DDP_ASSIGN_OR_RETURN(const uint32_t arguments, Pop());
    DDP_ASSIGN_OR_RETURN(const uint32_t function, Pop());
    if (!Is(function, Kind::kGlobal))
      return Wrong(absl::StrCat("a call of a ", KindName(value(function)), "; refused"));
    if (!Is(arguments, Kind::kTuple)) return Wrong("a call without a tuple of arguments");
    const std::string& name = value(function).text;
    const std::vector<uint32_t>& parts = value(arguments).items;
    if (name == kOrderedDict) {
      if (!parts.empty()) return Wrong("an OrderedDict with arguments; refused");
      return Push({.kind = Kind::kDict});
    }
    if (name == kRebuildParameter) {
      if (parts.size() != 3 || !Is(parts[0], Kind::kTensor)) return Wrong("a parameter that is no tensor");
      return PushIndex(parts[0]);
    }
    if (name == kRebuildV2 || name == kRebuildV3) return RebuildTensor(parts, name == kRebuildV3);
    return Wrong(absl::StrCat("a call of ", name, "; refused"));
  }

  absl::StatusOr<std::vector<int64_t>> Naturals(uint32_t index) const {
    if (!Is(index, Kind::kTuple) || value(index).items.size() > kMaxDimensions) return Wrong("no shape or strides");
    std::vector<int64_t> numbers;
    for (const uint32_t item : value(index).items) {
      if (!Is(item, Kind::kInt) || value(item).number < 0) return Wrong("a dimension or stride is no natural number");
      numbers.push_back(value(item).number);
    }
    return numbers;
  }

  // (storage, offset, shape, strides, requires_grad, hooks[, metadata]), version 3 with a dtype after the hooks.
  absl::Status RebuildTensor(const std::vector<uint32_t>& parts, bool with_dtype) {
    const size_t needed = with_dtype ? 7 : 6;
    if ((parts.size() != needed && parts.size() != needed + 1) || !Is(parts[0], Kind::kStorage) ||
        !Is(parts[1], Kind::kInt) || value(parts[1]).number < 0) {
      return Wrong("a tensor with wrong arguments");
    }
    StoredTensor tensor = out_.tensors[static_cast<size_t>(value(parts[0]).number)];
    if (with_dtype) {
      const std::string& type = value(parts[6]).text;
      const TorchType* known = absl::StartsWith(type, kTorch) ? TypeOfName(type.substr(sizeof(kTorch) - 1)) : nullptr;
      if (!Is(parts[6], Kind::kGlobal) || known == nullptr) return Wrong("a tensor without a type");
      tensor.dtype = known->dtype;
    }
    if (tensor.dtype.empty()) return Wrong("a tensor without a type");
    tensor.offset = static_cast<uint64_t>(value(parts[1]).number);
    DDP_ASSIGN_OR_RETURN(tensor.shape, Naturals(parts[2]));
    DDP_ASSIGN_OR_RETURN(tensor.strides, Naturals(parts[3]));
    DDP_RETURN_IF_ERROR(Measure(tensor));
    return PushTensor(Kind::kTensor, std::move(tensor));
  }

  // Sets `bytes`; an error unless every element lies inside of the storage.
  static absl::Status Measure(StoredTensor& tensor) {
    if (tensor.shape.size() != tensor.strides.size())
      return Wrong("a tensor with more or fewer strides than dimensions");
    const uint64_t each = DtypeBytes(tensor.dtype);
    const bool empty = std::count(tensor.shape.begin(), tensor.shape.end(), 0) > 0;
    uint64_t last = tensor.offset;
    uint64_t bytes = each;
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      const auto size = static_cast<uint64_t>(std::max<int64_t>(tensor.shape[d], 1));
      uint64_t reach = 0;
      if (__builtin_mul_overflow(bytes, size, &bytes) ||
          __builtin_mul_overflow(size - 1, static_cast<uint64_t>(tensor.strides[d]), &reach) ||
          __builtin_add_overflow(last, reach, &last)) {
        return Wrong("a tensor of an impossible size");
      }
    }
    tensor.bytes = empty ? 0 : bytes;
    if (!empty && last >= tensor.storage_bytes / each) return Wrong("a tensor reaches beyond its storage");
    return absl::OkStatus();
  }

  // state_dict() has an attribute _metadata, the versions of its modules.
  absl::Status Build() {
    DDP_RETURN_IF_ERROR(Pop().status());
    DDP_ASSIGN_OR_RETURN(const uint32_t target, Top());
    if (!Is(target, Kind::kDict)) return Wrong(absl::StrCat("attributes for a ", KindName(value(target)), "; refused"));
    return absl::OkStatus();
  }

  const std::string_view bytes_;
  size_t at_ = 0;
  size_t op_at_ = 0;
  bool stopped_ = false;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, uint32_t> memo_;
  Pickled out_;
};

}  // namespace

std::string KindName(const PickledValue& value) {
  static constexpr const char* kNames[] = {"None",  "bool", "int",  "int",  "float",   "str",
                                           "tuple", "list", "dict", "type", "storage", "tensor"};
  return kNames[static_cast<size_t>(value.kind)];
}

absl::StatusOr<Pickled> Unpickle(std::string_view bytes) { return Machine(bytes).Run(); }

}  // namespace ddp
