// Numbers as the bytes that our file formats hold: little-endian, which every machine that we build for is.
#ifndef DDP_WORKER_FORMATS_LITTLE_ENDIAN_H_
#define DDP_WORKER_FORMATS_LITTLE_ENDIAN_H_

#include <bit>
#include <cstring>
#include <string>

namespace ddp {

static_assert(std::endian::native == std::endian::little);

template <typename Number>
std::string LittleEndian(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

}  // namespace ddp

#endif  // DDP_WORKER_FORMATS_LITTLE_ENDIAN_H_
