// Reads a model's options strictly.
#ifndef DDP_WORKER_MODELS_OPTIONS_H_
#define DDP_WORKER_MODELS_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ddp {

// Ask for each option the model knows, then check status(): the first wrong value or unknown name, with the field's
// path.
class OptionReader {
 public:
  explicit OptionReader(const std::map<std::string, std::string>& options) : options_(options) {}

  int64_t Integer(const std::string& name, int64_t fallback, int64_t low, int64_t high);
  double Number(const std::string& name, double fallback, double low, double high_exclusive);
  // "256,128": each in [low, high].
  std::vector<int64_t> Integers(const std::string& name, std::vector<int64_t> fallback, int64_t low, int64_t high);
  std::string Choice(const std::string& name, const std::string& fallback, const std::vector<std::string>& choices);

  absl::Status status() const;

 private:
  const std::string* Find(const std::string& name);
  void Refuse(const std::string& name, const std::string& text);

  std::map<std::string, std::string> options_;
  std::vector<std::string> known_;
  absl::Status error_;
};

}  // namespace ddp

#endif  // DDP_WORKER_MODELS_OPTIONS_H_
