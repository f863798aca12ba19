// Text to token ids.
#ifndef DDP_WORKER_DATA_TOKENIZER_H_
#define DDP_WORKER_DATA_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace ddp {

inline constexpr int32_t kPadToken = 0;
inline constexpr int32_t kUnknownToken = 1;
inline constexpr int32_t kMaskToken = 2;
inline constexpr int32_t kSpecialTokens = 3;

// Many texts in one block of memory.
class Texts {
 public:
  void Add(std::string_view text) {
    bytes_.append(text);
    ends_.push_back(bytes_.size());
  }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  size_t size() const { return ends_.size(); }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

// Calls visit(word) for each word of a text, lower-cased: ASCII letters, digits and all bytes >= 0x80 make words,
// anything else separates them. The view is valid during the call only.
template <typename Visit>
void ForEachWord(std::string_view text, std::string* scratch, Visit visit) {
  scratch->clear();
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if ((u >= 'a' && u <= 'z') || (u >= '0' && u <= '9') || u >= 0x80) {
      scratch->push_back(c);
    } else if (u >= 'A' && u <= 'Z') {
      scratch->push_back(static_cast<char>(u | 0x20));
    } else if (!scratch->empty()) {
      visit(std::string_view(*scratch));
      scratch->clear();
    }
  }
  if (!scratch->empty()) visit(std::string_view(*scratch));
}

// A copyable, immutable tokenizer. Thread-safe. Empty (vocab_size 0) until made.
class Tokenizer {
 public:
  Tokenizer() = default;
  // id = byte + kSpecialTokens; vocabulary 259.
  static Tokenizer Bytes();
  // The vocab_size - kSpecialTokens most frequent words of the chosen texts, ties in byte order; the rest is unknown.
  static Tokenizer Words(const Texts& texts, const std::vector<int64_t>& chosen, int vocab_size);
  // Of a SentencePiece model file's content: id = piece + kSpecialTokens; its unknown piece is kUnknownToken.
  // InvalidArgument when that is no such model.
  static absl::StatusOr<Tokenizer> SentencePiece(std::string model);
  // Of files that hold ids: knows how many there are, and no text (Encode gives the unknown token).
  static Tokenizer Ids(int64_t vocab_size);

  int64_t vocab_size() const { return kind_ ? kind_->vocab_size() : 0; }
  // "words", "bytes", "sentencepiece" or "ids".
  std::string_view name() const { return kind_ ? kind_->name() : "words"; }
  bool reads_text() const { return name() != "ids"; }
  // Appends at most max_tokens ids; a text without a token becomes one unknown token.
  void Encode(std::string_view text, int max_tokens, std::vector<int32_t>* out) const;

  // The text of tokens, for people, as far as it can be known: words are in lower case, a text may begin or end inside
  // a character. "[unknown]" and "[mask]" stand for those tokens; without a text of its own, a token is its number.
  std::string Decode(std::span<const int32_t> tokens) const;

  // For the checkpoint: all that it needs, so that files it was made from may go. InvalidArgument says what is wrong.
  std::string ToJson() const;
  static absl::StatusOr<Tokenizer> FromJson(const std::string& json);

  // What a kind of tokenizer does.
  class Kind {
   public:
    virtual ~Kind() = default;
    virtual std::string_view name() const = 0;
    virtual int64_t vocab_size() const = 0;
    // As Tokenizer::Encode, but may append nothing.
    virtual void Encode(std::string_view text, size_t max_tokens, std::vector<int32_t>* out) const = 0;
    // The text of one token.
    virtual std::string Piece(int32_t token) const = 0;
    virtual std::string_view between_pieces() const { return ""; }
    // A piece begins with the space before it, which a text does not.
    virtual bool pieces_have_spaces() const { return false; }
    virtual std::string ToJson() const = 0;
  };

 private:
  explicit Tokenizer(std::shared_ptr<const Kind> kind) : kind_(std::move(kind)) {}
  std::shared_ptr<const Kind> kind_;
};

}  // namespace ddp

#endif  // DDP_WORKER_DATA_TOKENIZER_H_
