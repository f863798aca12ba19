// ddpctl logs.
#include "absl/strings/str_cat.h"
#include "client/verbs/verbs.h"

namespace ddp {

namespace {

struct LogFlags {
  std::string id;
  int rank = -1;
  int attempt = 0;
  int tail = 0;
  bool follow = false;
};

void PrintLines(const google::protobuf::RepeatedPtrField<v1::LogLine>& lines, bool name_rank) {
  std::string text;
  for (const v1::LogLine& line : lines) {
    if (name_rank) absl::StrAppend(&text, "rank ", line.rank(), " | ");
    absl::StrAppend(&text, line.text(), "\n");
  }
  Print(text);
}

void RunLogs(const LogFlags& flags, const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  if (!flags.follow) {
    v1::ReadLogRequest request;
    request.set_job_id(flags.id);
    request.set_attempt(flags.attempt);
    request.set_rank(flags.rank);
    request.set_tail(flags.tail);
    const v1::ReadLogResponse response = Call(connection, connection.logs(), &v1::LogService::Stub::Read, request);
    if (globals.is_text())
      PrintLines(response.lines(), flags.rank < 0);
    else
      Print(ToText(response, globals.format));
    return;
  }
  v1::FollowLogRequest request;
  request.set_job_id(flags.id);
  request.set_attempt(flags.attempt);
  request.set_rank(flags.rank);
  request.set_tail(flags.tail);
  const auto context = connection.Context(absl::InfiniteDuration());
  const auto stream = connection.logs().Follow(context.get(), request);
  for (v1::FollowLogResponse response; stream->Read(&response);) {
    if (globals.is_text())
      PrintLines(response.lines(), flags.rank < 0);
    else
      Print(ToText(response, globals.format));
  }
  Check(stream->Finish());
}

}  // namespace

void AddLogs(CLI::App& app, Globals& globals) {
  CLI::App& verb = *app.add_subcommand("logs", "What the ranks of a job printed");
  auto flags = std::make_shared<LogFlags>();
  verb.add_option("JOB", flags->id, "Id, or a unique beginning of it")->required();
  verb.add_option("--rank", flags->rank, "Only this rank")->check(CLI::NonNegativeNumber);
  verb.add_option("--attempt", flags->attempt, "Attempt; default: the newest")->check(CLI::PositiveNumber);
  verb.add_option("--tail", flags->tail, "Last lines of each rank (1000)")->check(CLI::Range(1, 100000));
  verb.add_flag("-f,--follow", flags->follow, "Go on until the job ends");
  verb.callback([flags, &globals] { RunLogs(*flags, globals); });
}

}  // namespace ddp
