#include "worker/formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/formats/input_file.h"

namespace ddp {

size_t DtypeBytes(const std::string& dtype) {
  static const std::map<std::string, size_t> kBytes{
      {"F64", 8}, {"I64", 8}, {"U64", 8}, {"F32", 4}, {"I32", 4},  {"U32", 4},     {"F16", 2},    {"BF16", 2},
      {"I16", 2}, {"U16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  const auto it = kBytes.find(dtype);
  return it == kBytes.end() ? 0 : it->second;
}

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxHeader = 100'000'000;  // the limit of the reference implementation

// nlohmann's parser keeps the last of equal keys; the format forbids them.
absl::StatusOr<Json> ParseStrict(const std::string& text) {
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  const auto callback = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      duplicate = parsed.get<std::string>();
    }
    return true;
  };
  Json json = Json::parse(text, callback, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return absl::InvalidArgumentError("the header is no JSON object");
  if (!duplicate.empty()) return absl::InvalidArgumentError(absl::StrCat("the name \"", duplicate, "\" stands twice"));
  return json;
}

absl::StatusOr<TensorInfo> ParseTensor(const std::string& name, const Json& entry, size_t data_start,
                                       size_t data_bytes) {
  const auto wrong = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("tensor \"", name, "\": ", what));
  };
  if (!entry.is_object()) return wrong("no object");
  const auto dtype = entry.find("dtype");
  const auto shape = entry.find("shape");
  const auto offsets = entry.find("data_offsets");
  if (dtype == entry.end() || !dtype->is_string()) return wrong("no dtype");
  if (shape == entry.end() || !shape->is_array()) return wrong("no shape");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2) return wrong("no data_offsets");
  TensorInfo info{.name = name, .dtype = dtype->get<std::string>()};
  size_t bytes = DtypeBytes(info.dtype);
  if (bytes == 0) return wrong(absl::StrCat("unknown dtype ", info.dtype));
  for (const Json& dimension : *shape) {
    if (!dimension.is_number_unsigned()) return wrong("a dimension is no natural number");
    const auto d = dimension.get<uint64_t>();
    if (__builtin_mul_overflow(bytes, d, &bytes) || d > uint64_t{1} << 62) return wrong("the shape is too large");
    info.shape.push_back(static_cast<int64_t>(d));
  }
  if (!(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned()) return wrong("wrong data_offsets");
  const auto begin = (*offsets)[0].get<uint64_t>();
  const auto end = (*offsets)[1].get<uint64_t>();
  if (begin > end || end > data_bytes) {
    return wrong(absl::StrCat("data_offsets [", begin, ", ", end, ") lie outside of the ", data_bytes, " data bytes"));
  }
  if (end - begin != bytes) {
    return wrong(absl::StrCat("shape and dtype need ", bytes, " bytes, data_offsets give ", end - begin));
  }
  info.begin = data_start + begin;
  info.bytes = bytes;
  return info;
}

}  // namespace

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  SafetensorsFile file;
  file.path_ = path;
  DDP_ASSIGN_OR_RETURN(OpenFile open, OpenInput(path));
  file.fd_ = std::move(open.fd);
  const auto wrong = [&](size_t at, const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": byte ", at, ": ", what));
  };
  const size_t size = open.size;
  file.file_bytes_ = size;
  uint64_t header_bytes = 0;  // little-endian, as every machine that we build for
  if (size < 8) return wrong(size, "the file ends inside the header's length: no safetensors file");
  DDP_RETURN_IF_ERROR(ReadAt(file.fd_.get(), path, 0, &header_bytes, 8));
  if (header_bytes > kMaxHeader)
    return wrong(0, absl::StrCat("a header of ", header_bytes, " bytes: no safetensors file"));
  if (header_bytes > size - 8)
    return wrong(size, absl::StrCat("the file ends inside the header of ", header_bytes, " bytes"));
  std::string header(header_bytes, '\0');
  DDP_RETURN_IF_ERROR(ReadAt(file.fd_.get(), path, 8, header.data(), header_bytes));
  absl::StatusOr<Json> json = ParseStrict(header);
  if (!json.ok()) return wrong(8, std::string(json.status().message()));

  const size_t data_start = 8 + header_bytes;
  for (const auto& [name, entry] : json->items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) return wrong(8, "__metadata__ is no object");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return wrong(8, absl::StrCat("__metadata__ \"", key, "\" is no string"));
        file.metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    absl::StatusOr<TensorInfo> tensor = ParseTensor(name, entry, data_start, size - data_start);
    if (!tensor.ok()) return wrong(8, std::string(tensor.status().message()));
    file.tensors_.push_back(*std::move(tensor));
  }
  std::sort(file.tensors_.begin(), file.tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.bytes) < std::tie(b.begin, b.bytes);
  });
  size_t at = data_start;
  for (const TensorInfo& tensor : file.tensors_) {
    if (tensor.begin != at)
      return wrong(std::min(at, tensor.begin), absl::StrCat("a hole or an overlap at tensor \"", tensor.name, "\""));
    at += tensor.bytes;
  }
  if (at != size) return wrong(at, absl::StrCat(size - at, " bytes follow the last tensor"));
  return file;
}

const TensorInfo* SafetensorsFile::Find(const std::string& name) const {
  for (const TensorInfo& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

absl::Status SafetensorsFile::Read(const TensorInfo& info, void* into) const {
  return ReadAt(fd_.get(), path_, info.begin, into, info.bytes);
}

std::string SafetensorsHeader(const std::vector<TensorBytes>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  size_t at = 0;
  for (const TensorBytes& tensor : tensors) {
    json[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {at, at + tensor.bytes}}};
    at += tensor.bytes;
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string header(8, '\0');
  std::memcpy(header.data(), &length, 8);
  return header + text;
}

}  // namespace ddp
