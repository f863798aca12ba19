#include "worker/data/numeric_array.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ddp {

namespace {

template <typename T>
T Load(const std::string& bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

// IEEE 754 binary16.
double HalfValue(uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  if (exponent == 31) return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

}  // namespace

size_t BytesOf(NumberType type) {
  switch (type) {
    case NumberType::kU8:
    case NumberType::kI8:
    case NumberType::kBool:
      return 1;
    case NumberType::kU16:
    case NumberType::kI16:
    case NumberType::kF16:
    case NumberType::kBF16:
      return 2;
    case NumberType::kU32:
    case NumberType::kI32:
    case NumberType::kF32:
      return 4;
    case NumberType::kU64:
    case NumberType::kI64:
    case NumberType::kF64:
      return 8;
  }
  return 0;
}

const char* NameOf(NumberType type) {
  switch (type) {
    case NumberType::kU8:
      return "uint8";
    case NumberType::kI8:
      return "int8";
    case NumberType::kU16:
      return "uint16";
    case NumberType::kI16:
      return "int16";
    case NumberType::kU32:
      return "uint32";
    case NumberType::kI32:
      return "int32";
    case NumberType::kU64:
      return "uint64";
    case NumberType::kI64:
      return "int64";
    case NumberType::kBool:
      return "bool";
    case NumberType::kF16:
      return "float16";
    case NumberType::kBF16:
      return "bfloat16";
    case NumberType::kF32:
      return "float32";
    case NumberType::kF64:
      return "float64";
  }
  return "?";
}

bool IsWhole(NumberType type) {
  return type != NumberType::kF16 && type != NumberType::kBF16 && type != NumberType::kF32 && type != NumberType::kF64;
}

int64_t NumericArray::size() const {
  int64_t size = 1;
  for (const int64_t d : shape) size *= d;
  return size;
}

double NumericArray::Number(int64_t i) const {
  switch (type) {
    case NumberType::kU8:
      return Load<uint8_t>(bytes, i);
    case NumberType::kI8:
      return Load<int8_t>(bytes, i);
    case NumberType::kU16:
      return Load<uint16_t>(bytes, i);
    case NumberType::kI16:
      return Load<int16_t>(bytes, i);
    case NumberType::kU32:
      return Load<uint32_t>(bytes, i);
    case NumberType::kI32:
      return Load<int32_t>(bytes, i);
    case NumberType::kU64:
      return static_cast<double>(Load<uint64_t>(bytes, i));
    case NumberType::kI64:
      return static_cast<double>(Load<int64_t>(bytes, i));
    case NumberType::kBool:
      return Load<uint8_t>(bytes, i) != 0 ? 1 : 0;
    case NumberType::kF16:
      return HalfValue(Load<uint16_t>(bytes, i));
    case NumberType::kBF16:
      return std::bit_cast<float>(uint32_t{Load<uint16_t>(bytes, i)} << 16);
    case NumberType::kF32:
      return Load<float>(bytes, i);
    case NumberType::kF64:
      return Load<double>(bytes, i);
  }
  return 0;
}

int64_t NumericArray::Key(int64_t i) const {
  if (type == NumberType::kU64) return static_cast<int64_t>(Load<uint64_t>(bytes, i) ^ (uint64_t{1} << 63));
  if (type == NumberType::kI64) return Load<int64_t>(bytes, i);
  return static_cast<int64_t>(Number(i));
}

std::string NumericArray::Text(int64_t i) const {
  if (type == NumberType::kU64) return absl::StrCat(Load<uint64_t>(bytes, i));
  if (type == NumberType::kI64) return absl::StrCat(Load<int64_t>(bytes, i));
  if (IsWhole(type)) return absl::StrCat(static_cast<int64_t>(Number(i)));
  return absl::StrCat(Number(i));
}

std::string NumericArray::Place(int64_t i) const {
  return absl::StrCat(name, ": byte ", data_byte + static_cast<uint64_t>(i) * BytesOf(type), ": ");
}

void SwapBytes(size_t width, std::string* bytes) {
  for (size_t at = 0; width > 1 && at + width <= bytes->size(); at += width) {
    std::reverse(bytes->begin() + static_cast<ptrdiff_t>(at), bytes->begin() + static_cast<ptrdiff_t>(at + width));
  }
}

std::string ShapeText(const std::vector<int64_t>& shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

}  // namespace ddp
