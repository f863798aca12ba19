// Tokenized text, kept in files that later attempts and jobs on the same data map into memory.
#ifndef DDP_WORKER_DATA_TOKEN_CACHE_H_
#define DDP_WORKER_DATA_TOKEN_CACHE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/data/dataset.h"
#include "worker/data/spec.h"
#include "worker/data/tokenizer.h"

namespace ddp {

// One entry of a cache folder: FOLDER/KEY.tokens. The key is an XXH3-128 hash over the version of the format, all of
// the spec that matters, the tokenizer and classes that were given, and the content of every file that is read. Text
// only. Whatever goes wrong (a damaged entry, a full disk, files that changed meanwhile) costs the cache, never the
// job. Several processes may use one folder.
class TokenCache {
 public:
  // How many entries stay in a folder; the least recently used go first.
  static constexpr size_t kEntries = 16;

  // Hashes the files.
  TokenCache(std::string folder, const DataSpec& spec, const Tokenizer* tokenizer,
             const std::vector<std::string>& class_names);

  // The data set, its numbers in the mapped file; unset: not there, or damaged.
  std::optional<Dataset> Find() const;
  // Keeps one that was read after the constructor.
  void Keep(const Dataset& data) const;

  // "" for data that is not kept.
  const std::string& path() const { return path_; }

 private:
  // What an input file looked like before it was hashed.
  struct Seen {
    std::string path;
    uint64_t size = 0;
    int64_t time_ns = 0;
  };

  std::string folder_;
  std::string key_;   // 16 bytes
  std::string path_;  // empty: nothing is kept
  std::vector<Seen> files_;
};

}  // namespace ddp

#endif  // DDP_WORKER_DATA_TOKEN_CACHE_H_
