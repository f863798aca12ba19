// A SentencePiece model, behind a border of plain C++. Debian's library brings its own protobuf and its own
// absl::string_view, so it is linked into a shared library of its own (libddp_sentencepiece.so) and this header is all
// that anybody includes.
#ifndef DDP_WORKER_DATA_SENTENCEPIECE_MODEL_H_
#define DDP_WORKER_DATA_SENTENCEPIECE_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ddp {

// Immutable. Thread-safe.
class SentencePieceModel {
 public:
  // content: of a model file. Null: `error` says what is wrong.
  static std::unique_ptr<const SentencePieceModel> Load(std::string content, std::string* error);
  ~SentencePieceModel();

  const std::string& content() const { return content_; }
  int64_t pieces() const;
  int unknown() const;
  // The text that a piece stands for; a byte of a character that is no piece by itself.
  std::string Piece(int number) const;
  // The first max_pieces pieces of the text, by number.
  std::vector<int> Encode(std::string_view text, size_t max_pieces) const;

 private:
  class Library;
  SentencePieceModel();
  std::string content_;
  std::unique_ptr<Library> library_;
};

}  // namespace ddp

#endif  // DDP_WORKER_DATA_SENTENCEPIECE_MODEL_H_
