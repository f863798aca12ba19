#include "worker/data/tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "common/text.h"

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

}  // namespace

// Word number i has the id i + kSpecialTokens.
class Tokenizer::Vocabulary {
 public:
  WordTable words;
};

Tokenizer Tokenizer::Bytes() {
  Tokenizer tokenizer;
  tokenizer.bytes_ = true;
  return tokenizer;
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
  auto vocabulary = std::make_shared<Vocabulary>();
  for (const size_t number : order) vocabulary->words.FindOrAdd(table[number]);
  Tokenizer tokenizer;
  tokenizer.vocabulary_ = std::move(vocabulary);
  return tokenizer;
}

int64_t Tokenizer::vocab_size() const {
  if (bytes_) return kBytesVocabulary;
  return vocabulary_ ? static_cast<int64_t>(vocabulary_->words.size()) + kSpecialTokens : 0;
}

void Tokenizer::Encode(std::string_view text, int max_tokens, std::vector<int32_t>* out) const {
  const size_t end = out->size() + static_cast<size_t>(max_tokens);
  const size_t begin = out->size();
  if (bytes_) {
    for (const char c : text.substr(0, static_cast<size_t>(max_tokens))) {
      out->push_back(static_cast<unsigned char>(c) + kSpecialTokens);
    }
  } else {
    std::string scratch;
    ForEachWord(text, &scratch, [&](std::string_view word) {
      if (out->size() == end) return;
      const int32_t number = vocabulary_->words.Find(word);
      out->push_back(number < 0 ? kUnknownToken : number + kSpecialTokens);
    });
  }
  if (out->size() == begin) out->push_back(kUnknownToken);
}

std::string Tokenizer::ToJson() const {
  if (bytes_) return Json{{"kind", "bytes"}}.dump();
  Json words = Json::array();
  for (size_t i = 0; vocabulary_ && i < vocabulary_->words.size(); ++i)
    words.push_back(std::string(vocabulary_->words[i]));
  return Json{{"kind", "words"}, {"words", std::move(words)}}.dump();
}

absl::StatusOr<Tokenizer> Tokenizer::FromJson(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("kind")) return absl::InvalidArgumentError("no tokenizer");
  if (json["kind"] == "bytes") return Bytes();
  if (json["kind"] != "words" || !json.contains("words") || !json["words"].is_array()) {
    return absl::InvalidArgumentError("the tokenizer is neither \"bytes\" nor \"words\" with a list of words");
  }
  auto vocabulary = std::make_shared<Vocabulary>();
  for (const Json& word : json["words"]) {
    if (!word.is_string()) return absl::InvalidArgumentError("a word of the tokenizer is no string");
    const auto expected = static_cast<int32_t>(vocabulary->words.size());
    if (vocabulary->words.FindOrAdd(word.get_ref<const std::string&>()) != expected) {
      return absl::InvalidArgumentError(
          absl::StrCat("the tokenizer has the word \"", EscapeControls(word.get<std::string>()), "\" twice"));
    }
  }
  Tokenizer tokenizer;
  tokenizer.vocabulary_ = std::move(vocabulary);
  return tokenizer;
}

}  // namespace ddp
