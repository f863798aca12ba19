// The verbs of ddpctl. Each Add function declares one family and runs it in its callback; errors are ExitError.
#ifndef DDP_CLIENT_VERBS_VERBS_H_
#define DDP_CLIENT_VERBS_VERBS_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/completion/offers.h"
#include "client/connection.h"
#include "client/exit_codes.h"
#include "client/output.h"
#include "client/print.h"
#include "proto/job_state.h"

namespace ddp {

// What all verbs share, filled in by the parser before a verb runs.
struct Globals {
  ConnectionOptions connection;
  OutputFormat format = OutputFormat::kTable;
  Offers offers;             // filled in when the verbs are declared
  ExitCode exit_code = kOk;  // set by a verb whose work went well although its answer is bad news
  bool is_text() const { return format == OutputFormat::kTable || format == OutputFormat::kWide; }
};

void AddSubmit(CLI::App& app, Globals& globals);
void AddShow(CLI::App& app, Globals& globals);   // list, get
void AddWatch(CLI::App& app, Globals& globals);  // watch, wait
void AddTop(CLI::App& app, Globals& globals);
void AddSteer(CLI::App& app, Globals& globals);  // cancel, pause, resume, delete
void AddLogs(CLI::App& app, Globals& globals);
void AddMetrics(CLI::App& app, Globals& globals);
void AddHistograms(CLI::App& app, Globals& globals);
void AddCheckpoints(CLI::App& app, Globals& globals);  // checkpoints list, verify, export, import, imports, forget
void AddDashboard(CLI::App& app, Globals& globals);
void AddDaemon(CLI::App& app, Globals& globals);  // daemon start, stop, status; version

void AddCompletion(CLI::App& app, Globals& globals);
// Prints what may come next on the command line, whose words up to the cursor these are (scripts.h).
void AnswerShell(const CLI::App& app, const Globals& globals, const std::vector<std::string>& words);

// Throws ErrorOf(status) unless it is OK.
inline void Check(const grpc::Status& status) {
  if (!status.ok()) throw ErrorOf(status);
}

// One call of `stub` that answers at once, as in Call(connection, connection.jobs(), &v1::JobService::Stub::Get,
// request).
template <typename Stub, typename Request, typename Response>
Response Call(const Connection& connection, Stub& stub,
              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*), const Request& request) {
  Response response;
  const std::unique_ptr<grpc::ClientContext> context = connection.Context();
  Check((stub.*method)(context.get(), request, &response));
  return response;
}

struct WatchOptions {
  bool talk = true;                                   // draw progress and events on standard error
  bool logs = false;                                  // and the lines of rank 0
  absl::Duration timeout = absl::InfiniteDuration();  // kNoDaemon when it passes
};
// Until the job is in an end state: it, as it ended. Goes on by itself when the daemon is restarted. Ctrl-C detaches:
// ExitError (kDetached).
v1::Job WatchToEnd(const Globals& globals, Connection& connection, const std::string& id, const WatchOptions& options);

}  // namespace ddp

#endif  // DDP_CLIENT_VERBS_VERBS_H_
