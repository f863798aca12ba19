// ddpctl metrics import.
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/exchange/run_reader.h"
#include "client/verbs/metrics_verbs.h"
#include "common/ids.h"
#include "common/text.h"

namespace ddp {

namespace {

struct ImportFlags {
  std::vector<std::string> paths;
  std::string name;
  std::vector<std::string> tags;
  bool dry_run = false;
};

// "runs/a" of a search that began at runs: the folder's own name, and the way down.
std::string NameOf(const std::string& path, const Run& run) {
  std::filesystem::path folder = std::filesystem::absolute(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  if (std::filesystem::is_regular_file(folder)) folder = folder.parent_path();
  const std::string base = folder.filename().string();
  const bool here = run.name == "." || run.files == std::vector<std::string>{path};
  return here ? base : absl::StrCat(base, "/", run.name);
}

void Report(const std::string& name, const RunReport& report) {
  std::string text = absl::StrCat(EscapeControls(name), ": ", report.points, " points, ", report.histograms,
                                  " histograms, ", report.texts, " texts");
  if (report.superseded > 0) absl::StrAppend(&text, "; ", report.superseded, " were superseded by a restart");
  for (const std::string& notice : report.notices) absl::StrAppend(&text, "\nnote: ", notice);
  Say(text + "\n");
}

// Reads the run and hands its points to `sink`; throws what stops it.
RunReport Read(const Run& run, const std::function<absl::Status(const v1::ImportMetricsBatch&)>& sink) {
  const absl::StatusOr<RunReport> report = ReadRun(run, sink);
  if (!report.ok()) throw ExitError(kRefused, std::string(report.status().message()));
  return *report;
}

v1::ImportMetricsResponse Send(const Run& run, const v1::ImportMetricsHeader& header, Connection& connection) {
  v1::ImportMetricsResponse response;
  const auto context = connection.Context(absl::InfiniteDuration());
  const auto stream = connection.metrics().Import(context.get(), &response);
  v1::ImportMetricsRequest part;
  *part.mutable_header() = header;
  // A daemon that refuses ends the stream; Finish says why.
  bool open = stream->Write(part);
  RunReport report;
  try {
    report = Read(run, [&](const v1::ImportMetricsBatch& batch) {
      *part.mutable_batch() = batch;
      open = open && stream->Write(part);
      return open ? absl::OkStatus() : absl::CancelledError("the daemon does not take it");
    });
  } catch (const ExitError&) {
    if (open) context->TryCancel();
    const grpc::Status status = stream->Finish();
    if (!open) Check(status);
    throw;
  }
  stream->WritesDone();
  Check(stream->Finish());
  Report(header.name(), report);
  return response;
}

void RunImport(const ImportFlags& flags, const Globals& globals) {
  std::vector<std::pair<std::string, Run>> runs;  // with their paths
  for (const std::string& path : flags.paths) {
    const absl::StatusOr<std::vector<Run>> found = FindRuns(path);
    if (!found.ok()) throw ExitError(kUsage, std::string(found.status().message()));
    for (const Run& run : *found) runs.emplace_back(path, run);
  }
  std::optional<Connection> connection;
  if (!flags.dry_run) connection.emplace(Connection::Open(globals.connection));
  for (const auto& [path, run] : runs) {
    v1::ImportMetricsHeader header;
    const std::string own = NameOf(path, run);
    header.set_name(flags.name.empty() ? own : runs.size() == 1 ? flags.name : absl::StrCat(flags.name, "/", own));
    *header.mutable_tags() = {flags.tags.begin(), flags.tags.end()};
    header.set_source(
        std::filesystem::absolute(run.files.size() == 1 ? run.files[0] : path).lexically_normal().string());
    header.set_request_id(absl::StrFormat("%016x%016x", RandomBits(), RandomBits()));
    if (flags.dry_run) {
      Report(header.name(), Read(run, [&](const v1::ImportMetricsBatch& batch) {
               if (!globals.is_text()) Print(ToText(batch, globals.format));
               return absl::OkStatus();
             }));
      continue;
    }
    const v1::ImportMetricsResponse response = Send(run, header, *connection);
    Print(globals.is_text() ? response.job_id() + "\n" : ToText(response, globals.format));
  }
}

}  // namespace

void AddMetricsImport(CLI::App& metrics, Globals& globals) {
  CLI::App& verb =
      *metrics.add_subcommand("import", "Make an ended job of each run in TensorBoard's event files; prints the ids");
  verb.fallthrough();
  auto flags = std::make_shared<ImportFlags>();
  verb.add_option("PATH", flags->paths, "Event files, or folders: one job for each folder with event files")
      ->required();
  verb.add_option("--name", flags->name, "Name of the job; of several: the beginning of their names")
      ->allow_extra_args(false);
  verb.add_option("--tag", flags->tags, "Tag; repeatable")->allow_extra_args(false);
  verb.add_flag("--dry-run", flags->dry_run, "Only say what would be imported; with -o json every point");
  verb.callback([flags, &globals] { RunImport(*flags, globals); });
}

}  // namespace ddp
