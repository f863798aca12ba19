// Early return on error, for functions that return absl::Status or absl::StatusOr.
#ifndef DDP_COMMON_STATUS_MACROS_H_
#define DDP_COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define DDP_RETURN_IF_ERROR(expr)                                                 \
  do {                                                                            \
    if (absl::Status ddp_status_ = (expr); !ddp_status_.ok()) return ddp_status_; \
  } while (false)

#define DDP_CONCAT_INNER_(a, b) a##b
#define DDP_CONCAT_(a, b) DDP_CONCAT_INNER_(a, b)
#define DDP_ASSIGN_OR_RETURN(lhs, expr) DDP_ASSIGN_OR_RETURN_IMPL_(DDP_CONCAT_(ddp_statusor_, __LINE__), lhs, expr)
#define DDP_ASSIGN_OR_RETURN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                               \
  if (!tmp.ok()) return std::move(tmp).status();   \
  lhs = *std::move(tmp)

#endif  // DDP_COMMON_STATUS_MACROS_H_
