#include "worker/data/npy.h"

#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace ddp {

namespace {

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran;
  std::optional<std::vector<int64_t>> shape;
};

// The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, size_t at_byte, const std::string& name)
      : text_(text), base_(at_byte), name_(name) {}

  absl::StatusOr<Header> Parse() {
    Header header;
    DDP_RETURN_IF_ERROR(Expect('{'));
    while (!Accept('}')) {
      DDP_ASSIGN_OR_RETURN(const std::string key, Text());
      DDP_RETURN_IF_ERROR(Expect(':'));
      if (key == "descr" && !header.descr) {
        Skip();
        if (at_ < text_.size() && text_[at_] == '[') {
          return Wrong("an array of structures; save each field as an array of its own");
        }
        DDP_ASSIGN_OR_RETURN(header.descr, Text());
      } else if (key == "fortran_order" && !header.fortran) {
        DDP_ASSIGN_OR_RETURN(header.fortran, Bool());
      } else if (key == "shape" && !header.shape) {
        DDP_ASSIGN_OR_RETURN(header.shape, Shape());
      } else {
        return Wrong(absl::StrCat("unknown or repeated key '", EscapeControls(key), "'"));
      }
      if (Accept(',')) continue;
      DDP_RETURN_IF_ERROR(Expect('}'));
      break;
    }
    Skip();
    if (at_ != text_.size()) return Wrong("text behind the header");
    if (!header.descr || !header.fortran || !header.shape) return Wrong("descr, fortran_order or shape is missing");
    return header;
  }

  absl::Status Wrong(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(name_, ": byte ", base_ + at_, ": header: ", what));
  }

 private:
  void Skip() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool Accept(char c) {
    Skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  absl::Status Expect(char c) {
    return Accept(c) ? absl::OkStatus() : Wrong(absl::StrCat("'", std::string(1, c), "' is missing"));
  }
  absl::StatusOr<std::string> Text() {
    Skip();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) return Wrong("a text in quotes is missing");
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }
  absl::StatusOr<bool> Bool() {
    Skip();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    return Wrong("fortran_order is neither True nor False");
  }
  absl::StatusOr<std::vector<int64_t>> Shape() {
    std::vector<int64_t> shape;
    DDP_RETURN_IF_ERROR(Expect('('));
    bool comma = true;
    while (!Accept(')')) {
      if (!comma) return Wrong("',' is missing in the shape");
      if (shape.size() == 32) return Wrong("more than 32 dimensions");
      Skip();
      const size_t begin = at_;
      int64_t d = 0;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        if (__builtin_mul_overflow(d, 10, &d) || __builtin_add_overflow(d, text_[at_] - '0', &d)) {
          return Wrong("a dimension is too large");
        }
      }
      if (at_ == begin) return Wrong("a dimension is no natural number");
      shape.push_back(d);
      comma = Accept(',');
    }
    if (shape.size() == 1 && !comma) {
      return Wrong(absl::StrCat("the shape (", shape[0], ") is no tuple; of one dimension it is (", shape[0], ",)"));
    }
    return shape;
  }

  std::string_view text_;
  size_t base_;
  const std::string& name_;
  size_t at_ = 0;
};

absl::StatusOr<NumberType> TypeOf(const std::string& descr) {
  static const std::map<std::string, NumberType, std::less<>> kTypes{
      {"u1", NumberType::kU8},   {"i1", NumberType::kI8},  {"u2", NumberType::kU16}, {"i2", NumberType::kI16},
      {"u4", NumberType::kU32},  {"i4", NumberType::kI32}, {"u8", NumberType::kU64}, {"i8", NumberType::kI64},
      {"b1", NumberType::kBool}, {"f2", NumberType::kF16}, {"f4", NumberType::kF32}, {"f8", NumberType::kF64}};
  const bool order = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const std::string kind = order ? descr.substr(1) : std::string();
  const auto found = kTypes.find(kind);
  if (found != kTypes.end() && (descr[0] != '|' || BytesOf(found->second) == 1)) return found->second;
  std::string what = "unknown element type";
  if (!kind.empty() && kind[0] == 'O') what = "an array of Python objects, which holds code";
  if (!kind.empty() && (kind[0] == 'U' || kind[0] == 'S')) what = "an array of texts";
  if (!kind.empty() && kind[0] == 'c') what = "an array of complex numbers";
  return absl::InvalidArgumentError(absl::StrCat(what, " ('", EscapeControls(descr.substr(0, 40)),
                                                 "'); needed are integers of 1 to 8 bytes, bool, f2, f4 or f8"));
}

}  // namespace

absl::StatusOr<NumericArray> ParseNpy(std::string content, const std::string& name, bool header_only) {
  const auto wrong = [&](size_t at, const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": byte ", at, ": ", what));
  };
  if (!content.starts_with("\x93NUMPY")) return wrong(0, "no .npy file");
  if (content.size() < 8) return wrong(content.size(), "the file ends inside the header");
  const int version = static_cast<unsigned char>(content[6]);
  if (version < 1 || version > 3) return wrong(6, absl::StrCat("unknown version ", version, " of the format"));
  const size_t width = version == 1 ? 2 : 4;
  if (content.size() < 8 + width) return wrong(content.size(), "the file ends inside the header");
  uint32_t length = 0;
  std::memcpy(&length, content.data() + 8, width);
  if (length > kNpyHeadBytes - 12) return wrong(8, absl::StrCat("a header of ", length, " bytes: no array of numbers"));
  const size_t begin = 8 + width;
  if (length > content.size() - begin) return wrong(content.size(), "the file ends inside the header");

  HeaderParser parser(std::string_view(content).substr(begin, length), begin, name);
  DDP_ASSIGN_OR_RETURN(Header header, parser.Parse());
  NumericArray array{.name = name, .data_byte = begin + length};
  const absl::StatusOr<NumberType> type = TypeOf(*header.descr);
  if (!type.ok()) return wrong(begin, std::string(type.status().message()));
  array.type = *type;
  array.shape = *std::move(header.shape);
  if (*header.fortran && array.shape.size() > 1) {
    return wrong(begin, "the array is in Fortran order; save numpy.ascontiguousarray of it");
  }
  auto bytes = static_cast<int64_t>(BytesOf(array.type));
  for (const int64_t d : array.shape) {
    if (__builtin_mul_overflow(bytes, d, &bytes)) {
      return wrong(begin, absl::StrCat("the shape ", ShapeText(array.shape), " is too large"));
    }
  }
  if (header_only) return array;
  const size_t data_bytes = content.size() - begin - length;
  if (data_bytes != static_cast<uint64_t>(bytes)) {
    return wrong(content.size(), absl::StrCat("the shape ", ShapeText(array.shape), " of ", NameOf(array.type),
                                              " needs ", bytes, " bytes, ", data_bytes, " follow the header"));
  }
  array.bytes = std::move(content.erase(0, begin + length));
  if ((*header.descr)[0] == '>') SwapBytes(BytesOf(array.type), &array.bytes);
  return array;
}

}  // namespace ddp
