// An array of numbers of any type, as the array formats hold them.
#ifndef DDP_WORKER_DATA_NUMERIC_ARRAY_H_
#define DDP_WORKER_DATA_NUMERIC_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddp {

enum class NumberType { kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64, kBool, kF16, kBF16, kF32, kF64 };

size_t BytesOf(NumberType type);
const char* NameOf(NumberType type);  // "uint8"
bool IsWhole(NumberType type);        // integers and bool

struct NumericArray {
  std::string name;        // of the file, or "FILE: array NAME": how errors begin
  uint64_t data_byte = 0;  // where in the (unpacked) file the numbers begin, for errors
  NumberType type = NumberType::kU8;
  std::vector<int64_t> shape;
  std::string bytes;  // row-major, little-endian; empty when only the header was read

  // Product of the shape, which readers have checked.
  int64_t size() const;
  double Number(int64_t index) const;
  // Of whole numbers: as different and in the same order as the numbers, which a double of 64 bits cannot be.
  int64_t Key(int64_t index) const;
  // The number as it is written: whole numbers exactly.
  std::string Text(int64_t index) const;
  // "NAME: byte N: ", of a number.
  std::string Place(int64_t index) const;
};

// Turns the bytes of each number around.
void SwapBytes(size_t width, std::string* bytes);

// "[60000, 28, 28]"
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_NUMERIC_ARRAY_H_
