#include "worker/data/tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/data/sentencepiece_model.h"

namespace ddp {

namespace {

using Json = nlohmann::json;

constexpr int kBytesVocabulary = 256 + kSpecialTokens;

// Words to numbers in the order of their first appearance: open addressing over one block of text, since counting the
// words of a million texts spends its time here.
class WordTable {
 public:
  WordTable() : slots_(size_t{1} << 12, -1) {}

  // -1: not there.
  int32_t Find(std::string_view word) const {
    const uint64_t hash = XXH3_64bits(word.data(), word.size());
    for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      const int32_t number = slots_[at];
      if (number < 0 || (hashes_[static_cast<size_t>(number)] == hash && words_[static_cast<size_t>(number)] == word)) {
        return number;
      }
    }
  }

  int32_t FindOrAdd(std::string_view word) {
    const int32_t found = Find(word);
    if (found >= 0) return found;
    words_.Add(word);
    hashes_.push_back(XXH3_64bits(word.data(), word.size()));
    if (words_.size() * 2 > slots_.size())
      slots_.assign(slots_.size() * 2, -1), Refill();
    else
      Place(static_cast<int32_t>(words_.size()) - 1);
    return static_cast<int32_t>(words_.size()) - 1;
  }

  std::string_view operator[](size_t number) const { return words_[number]; }
  size_t size() const { return words_.size(); }

 private:
  void Place(int32_t number) {
    size_t at = hashes_[static_cast<size_t>(number)] & (slots_.size() - 1);
    while (slots_[at] >= 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = number;
  }
  void Refill() {
    for (size_t i = 0; i < words_.size(); ++i) Place(static_cast<int32_t>(i));
  }

  Texts words_;
  std::vector<uint64_t> hashes_;
  std::vector<int32_t> slots_;  // a power of two, at most half full
};

std::string SpecialPiece(int32_t token) {
  return token == kMaskToken ? "[mask]" : token == kUnknownToken ? "[unknown]" : "[pad]";
}

class BytesKind : public Tokenizer::Kind {
 public:
  std::string_view name() const override { return "bytes"; }
  int64_t vocab_size() const override { return kBytesVocabulary; }
  void Encode(std::string_view text, size_t max_tokens, std::vector<int32_t>* out) const override {
    for (const char c : text.substr(0, max_tokens)) out->push_back(static_cast<unsigned char>(c) + kSpecialTokens);
  }
  std::string Piece(int32_t token) const override {
    if (token < kSpecialTokens) return SpecialPiece(token);
    return std::string(1, static_cast<char>(token - kSpecialTokens));
  }
  std::string ToJson() const override { return Json{{"kind", "bytes"}}.dump(); }
};

// Word number i has the id i + kSpecialTokens.
class WordsKind : public Tokenizer::Kind {
 public:
  explicit WordsKind(WordTable words) : words_(std::move(words)) {}
  std::string_view name() const override { return "words"; }
  int64_t vocab_size() const override { return static_cast<int64_t>(words_.size()) + kSpecialTokens; }
  void Encode(std::string_view text, size_t max_tokens, std::vector<int32_t>* out) const override {
    const size_t end = out->size() + max_tokens;
    std::string scratch;
    ForEachWord(text, &scratch, [&](std::string_view word) {
      if (out->size() == end) return;
      const int32_t number = words_.Find(word);
      out->push_back(number < 0 ? kUnknownToken : number + kSpecialTokens);
    });
  }
  std::string Piece(int32_t token) const override {
    if (token < kSpecialTokens) return SpecialPiece(token);
    return std::string(words_[static_cast<size_t>(token - kSpecialTokens)]);
  }
  std::string_view between_pieces() const override { return " "; }
  std::string ToJson() const override {
    Json words = Json::array();
    for (size_t i = 0; i < words_.size(); ++i) words.push_back(std::string(words_[i]));
    return Json{{"kind", "words"}, {"words", std::move(words)}}.dump();
  }

 private:
  WordTable words_;
};

class SentencePieceKind : public Tokenizer::Kind {
 public:
  explicit SentencePieceKind(std::unique_ptr<const SentencePieceModel> model) : model_(std::move(model)) {}
  std::string_view name() const override { return "sentencepiece"; }
  int64_t vocab_size() const override { return model_->pieces() + kSpecialTokens; }
  void Encode(std::string_view text, size_t max_tokens, std::vector<int32_t>* out) const override {
    for (const int piece : model_->Encode(text, max_tokens)) {
      out->push_back(piece == model_->unknown() ? kUnknownToken : piece + kSpecialTokens);
    }
  }
  std::string Piece(int32_t token) const override {
    return token < kSpecialTokens ? SpecialPiece(token) : model_->Piece(token - kSpecialTokens);
  }
  bool pieces_have_spaces() const override { return true; }
  std::string ToJson() const override {
    return Json{{"kind", "sentencepiece"}, {"model", absl::Base64Escape(model_->content())}}.dump();
  }

 private:
  std::unique_ptr<const SentencePieceModel> model_;
};

class IdsKind : public Tokenizer::Kind {
 public:
  explicit IdsKind(int64_t vocab_size) : vocab_size_(vocab_size) {}
  std::string_view name() const override { return "ids"; }
  int64_t vocab_size() const override { return vocab_size_; }
  void Encode(std::string_view, size_t, std::vector<int32_t>*) const override {}
  std::string Piece(int32_t token) const override { return absl::StrCat(token); }
  std::string_view between_pieces() const override { return " "; }
  std::string ToJson() const override { return Json{{"kind", "ids"}, {"vocab_size", vocab_size_}}.dump(); }

 private:
  int64_t vocab_size_;
};

absl::StatusOr<WordTable> WordsFromJson(const Json& json) {
  WordTable words;
  for (const Json& word : json) {
    if (!word.is_string()) return absl::InvalidArgumentError("a word of the tokenizer is no string");
    const auto expected = static_cast<int32_t>(words.size());
    if (words.FindOrAdd(word.get_ref<const std::string&>()) != expected) {
      return absl::InvalidArgumentError(
          absl::StrCat("the tokenizer has the word \"", EscapeControls(word.get<std::string>()), "\" twice"));
    }
  }
  return words;
}

}  // namespace

Tokenizer Tokenizer::Bytes() { return Tokenizer(std::make_shared<BytesKind>()); }

Tokenizer Tokenizer::Ids(int64_t vocab_size) { return Tokenizer(std::make_shared<IdsKind>(vocab_size)); }

absl::StatusOr<Tokenizer> Tokenizer::SentencePiece(std::string content) {
  std::string error;
  std::unique_ptr<const SentencePieceModel> model = SentencePieceModel::Load(std::move(content), &error);
  if (model == nullptr) return absl::InvalidArgumentError(absl::StrCat("no SentencePiece model: ", error));
  return Tokenizer(std::make_shared<SentencePieceKind>(std::move(model)));
}

Tokenizer Tokenizer::Words(const Texts& texts, const std::vector<int64_t>& chosen, int vocab_size) {
  WordTable table;
  std::vector<int64_t> counts;
  std::string scratch;
  for (const int64_t i : chosen) {
    ForEachWord(texts[static_cast<size_t>(i)], &scratch, [&](std::string_view word) {
      const auto number = static_cast<size_t>(table.FindOrAdd(word));
      if (number == counts.size()) counts.push_back(0);
      ++counts[number];
    });
  }
  std::vector<size_t> order(table.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return counts[a] != counts[b] ? counts[a] > counts[b] : table[a] < table[b]; });
  order.resize(std::min(order.size(), static_cast<size_t>(std::max(0, vocab_size - kSpecialTokens))));
  WordTable words;
  for (const size_t number : order) words.FindOrAdd(table[number]);
  return Tokenizer(std::make_shared<WordsKind>(std::move(words)));
}

void Tokenizer::Encode(std::string_view text, int max_tokens, std::vector<int32_t>* out) const {
  const size_t begin = out->size();
  if (kind_) kind_->Encode(text, static_cast<size_t>(max_tokens), out);
  if (out->size() == begin) out->push_back(kUnknownToken);
}

std::string Tokenizer::Decode(std::span<const int32_t> tokens) const {
  std::string text;
  for (size_t i = 0; kind_ && i < tokens.size(); ++i) {
    if (i > 0) text += kind_->between_pieces();
    text += kind_->Piece(tokens[i]);
  }
  if (kind_ && kind_->pieces_have_spaces() && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

std::string Tokenizer::ToJson() const {
  return kind_ ? kind_->ToJson() : Json{{"kind", "words"}, {"words", Json::array()}}.dump();
}

absl::StatusOr<Tokenizer> Tokenizer::FromJson(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("kind")) return absl::InvalidArgumentError("no tokenizer");
  const Json& kind = json["kind"];
  if (kind == "bytes") return Bytes();
  if (kind == "words" && json.contains("words") && json["words"].is_array()) {
    DDP_ASSIGN_OR_RETURN(WordTable words, WordsFromJson(json["words"]));
    return Tokenizer(std::make_shared<WordsKind>(std::move(words)));
  }
  if (kind == "sentencepiece" && json.contains("model") && json["model"].is_string()) {
    std::string model;
    if (!absl::Base64Unescape(json["model"].get<std::string>(), &model)) {
      return absl::InvalidArgumentError("the tokenizer's model is not Base64");
    }
    return SentencePiece(std::move(model));
  }
  if (kind == "ids" && json.contains("vocab_size") && json["vocab_size"].is_number_unsigned()) {
    return Ids(json["vocab_size"].get<int64_t>());
  }
  return absl::InvalidArgumentError(
      "the tokenizer is neither \"bytes\", \"words\" with a list of words, \"sentencepiece\" with a model nor \"ids\" "
      "with a vocab_size");
}

}  // namespace ddp
