// A run, read as an import reads it: twice. The input says how long each record is, in front of it, so that mutations
// keep their checksums.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/exchange/records.h"
#include "client/exchange/run_reader.h"
#include "common/files.h"

namespace {

void Expect(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string input(reinterpret_cast<const char*>(data), size);
  const ddp::UniqueFd file(memfd_create("run", MFD_CLOEXEC));
  Expect(file.valid());
  while (!input.empty()) {
    const size_t length = std::min(input.size() - 1, static_cast<size_t>(static_cast<uint8_t>(input[0])));
    Expect(ddp::WriteAll(file.get(), ddp::Record(input.substr(1, length))).ok());
    input.erase(0, 1 + length);
  }
  const ddp::Run run{".", {absl::StrCat("/proc/self/fd/", file.get())}};
  int64_t points = 0, histograms = 0, texts = 0;
  std::map<std::string, int64_t> last;  // step of each series
  const auto report = ddp::ReadRun(run, [&](const ddp::v1::ImportMetricsBatch& batch) {
    for (const ddp::v1::MetricColumn& column : batch.columns()) {
      Expect(column.step_size() > 0 && column.step_size() == column.value_size() &&
             column.step_size() == column.time_size());
      points += column.step_size();
      for (const int64_t step : column.step()) {
        const auto [known, added] = last.emplace(column.series(), step);
        // What came before and was not smaller has been superseded.
        Expect(step >= 0 && (added || step > known->second));
        known->second = step;
      }
    }
    histograms += batch.histograms_size();
    texts += batch.texts_size();
    return absl::OkStatus();
  });
  if (report.ok()) Expect(report->points == points && report->histograms == histograms && report->texts == texts);
  return 0;
}
