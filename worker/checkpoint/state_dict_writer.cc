#include <algorithm>

#include "absl/strings/str_cat.h"
#include "worker/checkpoint/state_dict.h"
#include "worker/checkpoint/torch_types.h"
#include "worker/formats/little_endian.h"

namespace ddp {

namespace {

// Opcodes of pickle protocol 2, as in Python's pickletools.
class Pickler {
 public:
  Pickler& Op(const std::string& code) {
    text_ += code;
    return *this;
  }
  Pickler& Global(const std::string& module, const std::string& name) {
    return Op(absl::StrCat("c", module, "\n", name, "\n"));
  }
  Pickler& Text(const std::string& text) { return Op("X").Number(static_cast<uint32_t>(text.size())).Op(text); }
  Pickler& Int(int64_t number) {
    if (number >= 0 && number <= 0xff) return Op("K").Number(static_cast<uint8_t>(number));
    if (number >= 0 && number <= 0x7fffffff) return Op("J").Number(static_cast<int32_t>(number));
    return Op("\x8a").Number(uint8_t{8}).Number(number);  // LONG1 of 8 bytes
  }
  Pickler& Ints(const std::vector<int64_t>& numbers) {
    Op("(");
    for (const int64_t number : numbers) Int(number);
    return Op("t");
  }
  Pickler& EmptyOrderedDict() { return Global("collections", "OrderedDict").Op(")R"); }
  std::string Take() { return std::move(text_); }

 private:
  template <typename Int>
  Pickler& Number(Int number) {
    return Op(LittleEndian(number));
  }
  std::string text_;
};

std::vector<int64_t> ContiguousStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  // PyTorch counts an empty dimension as one; what it does not use may not overflow.
  for (size_t d = shape.size(); d-- > 1;) {
    if (__builtin_mul_overflow(strides[d], std::max<int64_t>(shape[d], 1), &strides[d - 1])) strides[d - 1] = 1;
  }
  return strides;
}

}  // namespace

std::string WriteStateDict(const std::vector<TensorInfo>& tensors) {
  Pickler out;
  out.Op("\x80\x02").EmptyOrderedDict().Op("(");
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& tensor = tensors[i];
    const TorchType& type = *TypeOfDtype(tensor.dtype);
    const bool typed = type.storage != nullptr;
    out.Text(tensor.name).Global("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3").Op("((");
    out.Text("storage").Global(typed ? "torch" : "torch.storage", typed ? type.storage : "UntypedStorage");
    out.Text(absl::StrCat(i)).Text("cpu");
    out.Int(static_cast<int64_t>(typed ? tensor.bytes / DtypeBytes(tensor.dtype) : tensor.bytes)).Op("tQ");
    out.Int(0).Ints(tensor.shape).Ints(ContiguousStrides(tensor.shape)).Op("\x89").EmptyOrderedDict();
    if (!typed) out.Global("torch", type.name);
    out.Op("tR");
  }
  return out.Op("u.").Take();
}

}  // namespace ddp
