// Files of token ids: raw uint16 or uint32 (nanoGPT's train.bin), or with the header of llm.c.
#ifndef DDP_WORKER_DATA_TOKEN_FILE_H_
#define DDP_WORKER_DATA_TOKEN_FILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/files.h"

namespace ddp {

// Reads with pread, so that a file larger than memory costs none. Thread-safe after Open.
class TokenFile {
 public:
  // token_type: of raw files, "uint16" (also ""), or "uint32". Errors are FieldErrors of `field` or of
  // training.data.token_type.
  static absl::StatusOr<TokenFile> Open(const std::string& path, const std::string& token_type, int64_t vocab_size,
                                        std::string_view field);

  int64_t size() const { return tokens_; }
  // out.size() tokens from `first` on, which must lie in the file. InvalidArgument "FILE: byte N: ..." for one outside
  // the vocabulary.
  absl::Status Read(int64_t first, std::span<int32_t> out) const;
  // 128 bits, as 32 hexadecimal digits, over the size, the first 4 KiB and 1,024 more blocks of 4 KiB, evenly spread
  // over the file (all of it, when it is smaller than these): enough to tell files apart, quick on one of any size.
  absl::StatusOr<std::string> Fingerprint() const;

 private:
  std::string path_;
  UniqueFd fd_;
  uint64_t bytes_ = 0;
  uint64_t data_ = 0;  // where the first token is
  uint64_t width_ = 2;
  int64_t tokens_ = 0;
  int64_t vocab_size_ = 0;
};

}  // namespace ddp

#endif  // DDP_WORKER_DATA_TOKEN_FILE_H_
