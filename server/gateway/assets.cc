#include "server/gateway/assets.h"

#include "common/ids.h"

namespace ddp {

namespace {

bool IsPageAddress(std::string_view path) {
  constexpr std::string_view kJob = "/jobs/";
  if (path == "/" || path == "/compare") return true;
  return path.substr(0, kJob.size()) == kJob && IsJobIdPrefix(path.substr(kJob.size()));
}

}  // namespace

const Asset* FindAsset(std::span<const Asset> assets, std::string_view path) {
  if (IsPageAddress(path)) path = "/index.html";
  for (const Asset& asset : assets) {
    if (asset.path == path) return &asset;
  }
  return nullptr;
}

}  // namespace ddp
