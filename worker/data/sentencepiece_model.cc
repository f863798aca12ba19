#include "worker/data/sentencepiece_model.h"

#include <sentencepiece_processor.h>

#include <exception>
#include <utility>

namespace ddp {

class SentencePieceModel::Library {
 public:
  sentencepiece::SentencePieceProcessor processor;
};

SentencePieceModel::SentencePieceModel() : library_(std::make_unique<Library>()) {}
SentencePieceModel::~SentencePieceModel() = default;

std::unique_ptr<const SentencePieceModel> SentencePieceModel::Load(std::string content, std::string* error) {
  std::unique_ptr<SentencePieceModel> model(new SentencePieceModel);
  model->content_ = std::move(content);
  try {
    const sentencepiece::util::Status status = model->library_->processor.LoadFromSerializedProto(model->content_);
    if (status.ok() && model->pieces() > 0) return model;
    *error = status.ok() ? "it has no pieces" : status.error_message();
  } catch (const std::exception& e) {
    *error = e.what();
  }
  return nullptr;
}

int64_t SentencePieceModel::pieces() const { return library_->processor.GetPieceSize(); }

int SentencePieceModel::unknown() const { return library_->processor.unk_id(); }

std::string SentencePieceModel::Piece(int number) const {
  std::string piece = library_->processor.IdToPiece(number);
  // "<0xE2>"
  if (library_->processor.IsByte(number)) {
    return std::string(1, static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16)));
  }
  // U+2581 marks where a space was.
  constexpr std::string_view kSpace = "\xe2\x96\x81";
  for (size_t at = piece.find(kSpace); at != std::string::npos; at = piece.find(kSpace, at)) {
    piece.replace(at, kSpace.size(), " ");
  }
  return piece;
}

std::vector<int> SentencePieceModel::Encode(std::string_view text, size_t max_pieces) const {
  std::vector<int> pieces = library_->processor.EncodeAsIds(text);
  if (pieces.size() > max_pieces) pieces.resize(max_pieces);
  return pieces;
}

}  // namespace ddp
