// CSV and TSV files: the first byte chooses the separator and what the columns are.
#include <cstdint>
#include <limits>
#include <string>

#include "worker/data/table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  ddp::DataSpec spec;
  const bool tsv = (data[0] & 1) != 0;
  if ((data[0] & 2) != 0) {
    spec.text_column = "t";
  } else {
    spec.feature_columns = {"a", "b"};
  }
  spec.label_column = "y";
  spec.label_kind = (data[0] & 4) != 0 ? ddp::LabelKind::kClass : ddp::LabelKind::kNumber;
  const ddp::InputFile file{std::string(reinterpret_cast<const char*>(data) + 1, size - 1), (data[0] & 8) == 0};
  const auto samples = ddp::ReadTable(tsv ? "f.tsv" : "f.csv", file, spec, ddp::kSourceField,
                                      std::numeric_limits<int64_t>::max(), nullptr);
  if (!samples.ok()) return 0;
  const size_t labels = samples->labels.size() + samples->numbers.size();
  const size_t rows = static_cast<size_t>(samples->size);
  if (labels != rows || samples->texts.size() + samples->features.size() / 2 != rows) __builtin_trap();
  return 0;
}
