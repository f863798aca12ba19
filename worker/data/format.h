// Which format a file has: its name says it.
#ifndef DDP_WORKER_DATA_FORMAT_H_
#define DDP_WORKER_DATA_FORMAT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "worker/data/spec.h"

namespace ddp {

enum class Format { kTable, kJsonLines, kTextLines, kIdx, kNpy, kNpz, kSafetensors, kTokens };

// Unset: no name of a data file.
std::optional<Format> FormatOf(std::string_view path);

// IDX, npy, npz and safetensors.
bool IsArrayFormat(Format format);

// Refuses what the spec asks for and the format of its files does not have: columns, labels, shapes; and a second file
// of another format. Errors are FieldErrors.
absl::Status CheckFormat(const DataSpec& spec, Format format);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_FORMAT_H_
