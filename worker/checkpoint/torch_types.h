// Names of element types: PyTorch's and those of safetensors.
#ifndef DDP_WORKER_CHECKPOINT_TORCH_TYPES_H_
#define DDP_WORKER_CHECKPOINT_TORCH_TYPES_H_

#include <string>

namespace ddp {

struct TorchType {
  const char* dtype;    // "F32"
  const char* storage;  // "FloatStorage"; null: newer types, which have an UntypedStorage
  const char* name;     // "float32"
};

inline constexpr TorchType kTorchTypes[] = {
    {"F64", "DoubleStorage", "float64"}, {"F32", "FloatStorage", "float32"},
    {"F16", "HalfStorage", "float16"},   {"BF16", "BFloat16Storage", "bfloat16"},
    {"I64", "LongStorage", "int64"},     {"I32", "IntStorage", "int32"},
    {"I16", "ShortStorage", "int16"},    {"I8", "CharStorage", "int8"},
    {"U8", "ByteStorage", "uint8"},      {"BOOL", "BoolStorage", "bool"},
    {"U64", nullptr, "uint64"},          {"U32", nullptr, "uint32"},
    {"U16", nullptr, "uint16"},          {"F8_E4M3", nullptr, "float8_e4m3fn"},
    {"F8_E5M2", nullptr, "float8_e5m2"}};

// Null: none.
const TorchType* TypeOfDtype(const std::string& dtype);
const TorchType* TypeOfStorage(const std::string& storage);
const TorchType* TypeOfName(const std::string& name);

}  // namespace ddp

#endif  // DDP_WORKER_CHECKPOINT_TORCH_TYPES_H_
