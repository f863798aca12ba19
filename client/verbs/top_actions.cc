#include "client/verbs/top_actions.h"

#include "absl/strings/str_cat.h"
#include "client/exit_codes.h"
#include "proto/job_state.h"

namespace ddp {

namespace {

constexpr absl::Duration kDeadline = absl::Seconds(10);

template <typename Request>
v1::Job Steer(const std::string& id, Connection& connection, RunningCalls& calls,
              grpc::Status (v1::JobService::Stub::*method)(grpc::ClientContext*, const Request&, v1::Job*)) {
  Request request;
  request.set_id(id);
  v1::Job job;
  const auto context = connection.Context(kDeadline);
  const RunningCall scope(calls, context.get());
  const grpc::Status status = (connection.jobs().*method)(context.get(), request, &job);
  if (!status.ok()) throw ErrorOf(status);
  return job;
}

v1::Job Do(const TopAction& action, Connection& connection, RunningCalls& calls) {
  if (action.kind == TopAction::kCancel) {
    return Steer<v1::CancelJobRequest>(action.job, connection, calls, &v1::JobService::Stub::Cancel);
  }
  if (action.kind == TopAction::kPause) {
    return Steer<v1::PauseJobRequest>(action.job, connection, calls, &v1::JobService::Stub::Pause);
  }
  return Steer<v1::ResumeJobRequest>(action.job, connection, calls, &v1::JobService::Stub::Resume);
}

}  // namespace

std::string DoAction(const TopAction& action, const ConnectionOptions& options, RunningCalls& calls) {
  try {
    const std::unique_ptr<Connection> connection = Connection::Find(options);
    if (connection == nullptr) return absl::StrCat("no daemon answers; nothing was done to ", action.job);
    const v1::Job job = Do(action, *connection, calls);
    return absl::StrCat(job.id(), " ", StateName(job.state()));
  } catch (const ExitError& e) {
    return e.what();
  }
}

}  // namespace ddp
