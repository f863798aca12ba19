// ddpctl logs.
#include <map>

#include "absl/strings/str_cat.h"
#include "client/known_lines.h"
#include "client/verbs/daemon_link.h"
#include "client/verbs/verbs.h"

namespace ddp {

namespace {

constexpr int kLinesAfterABreak = 1000;

struct LogFlags {
  std::string id;
  int rank = -1;
  int attempt = 0;
  int tail = 0;
  bool follow = false;
};

// A line as it is printed, with the rank where there may be several.
void AppendLine(const v1::LogLine& line, const LogFlags& flags, std::string& text) {
  if (flags.rank < 0) absl::StrAppend(&text, "rank ", line.rank(), " | ");
  absl::StrAppend(&text, line.text(), "\n");
}

template <typename Request>
Request Wanted(const LogFlags& flags) {
  Request request;
  request.set_job_id(flags.id);
  request.set_attempt(flags.attempt);
  request.set_rank(flags.rank);
  request.set_tail(flags.tail);
  return request;
}

void Read(const LogFlags& flags, const Globals& globals, Connection& connection) {
  const v1::ReadLogResponse response =
      Call(connection, connection.logs(), &v1::LogService::Stub::Read, Wanted<v1::ReadLogRequest>(flags));
  std::string text;
  for (const v1::LogLine& line : response.lines()) AppendLine(line, flags, text);
  Print(globals.is_text() ? text : ToText(response, globals.format));
}

// Leaves out of `response` what has been there before a daemon was restarted.
void TakeNew(std::map<int, KnownLines>& known, v1::FollowLogResponse& response) {
  std::map<int, std::vector<std::string>> texts;  // by rank
  for (const v1::LogLine& line : response.lines()) texts[line.rank()].push_back(line.text());
  std::map<int, size_t> old;
  for (const auto& [rank, lines] : texts) old[rank] = lines.size() - known[rank].New(lines).size();
  v1::FollowLogResponse fresh;
  for (v1::LogLine& line : *response.mutable_lines()) {
    size_t& left = old[line.rank()];
    if (left > 0) {
      --left;
    } else {
      fresh.add_lines()->Swap(&line);
    }
  }
  response.mutable_lines()->Swap(fresh.mutable_lines());
}

void Follow(const LogFlags& flags, const Globals& globals, Connection& first) {
  auto request = Wanted<v1::FollowLogRequest>(flags);
  std::map<int, KnownLines> known;  // by rank
  DaemonLink link(globals.connection, first);
  for (;;) {
    const auto context = link.connection().Context(absl::InfiniteDuration());
    const auto stream = link.connection().logs().Follow(context.get(), request);
    for (v1::FollowLogResponse response; stream->Read(&response);) {
      link.Works();
      if (!response.lines().empty()) request.set_attempt(response.lines().rbegin()->attempt());
      TakeNew(known, response);
      std::string text;
      for (const v1::LogLine& line : response.lines()) AppendLine(line, flags, text);
      if (!response.lines().empty()) Print(globals.is_text() ? text : ToText(response, globals.format));
    }
    const grpc::Status status = stream->Finish();
    if (status.ok()) return;
    link.Mend(status, [](const std::string& line) { Say(line + "\n"); });
    for (auto& [rank, lines] : known) lines.Repeat();
    request.set_tail(kLinesAfterABreak);
  }
}

void RunLogs(const LogFlags& flags, const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  if (flags.follow) {
    Follow(flags, globals, connection);
  } else {
    Read(flags, globals, connection);
  }
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
