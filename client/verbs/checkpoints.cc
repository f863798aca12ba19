// ddpctl checkpoints list, verify, export, import, imports, forget.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/new_file.h"
#include "client/text_table.h"
#include "client/verbs/choice.h"
#include "client/verbs/verbs.h"
#include "common/files.h"
#include "common/text.h"
#include "ddp/v1/checkpoint.grpc.pb.h"

namespace ddp {

namespace {

constexpr size_t kPiece = size_t{1} << 20;
// Large files take long; a daemon that has gone is noticed without a deadline.
constexpr absl::Duration kWholeFiles = absl::InfiniteDuration();

struct ExportFlags {
  std::string checkpoint;
  std::string file;
  std::string format;
  bool force = false;
};

// JOB, JOB@STEP, JOB@last, JOB@best
struct Name {
  std::string job;
  std::string checkpoint;
};
Name ParseName(const std::string& text) {
  const size_t at = text.find('@');
  Name name{text.substr(0, at), at == std::string::npos ? "" : text.substr(at + 1)};
  if (at != std::string::npos && name.checkpoint.empty()) {
    throw ExitError(kUsage, absl::StrCat("\"", EscapeControls(text), "\": after the @ comes last, best, or a step"));
  }
  return name;
}

// "12.3 MB"
std::string SizeText(int64_t bytes) {
  if (bytes < 1000) return absl::StrCat(bytes, " B");
  double size = static_cast<double>(bytes) / 1000;
  for (const char* unit : {"kB", "MB", "GB"}) {
    if (size < 999.95) return absl::StrFormat("%.1f %s", size, unit);
    size /= 1000;
  }
  return absl::StrFormat("%.1f TB", size);
}

void RunList(const std::string& job, const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  v1::ListCheckpointsRequest request;
  request.set_job_id(job);
  const v1::ListCheckpointsResponse response =
      Call(connection, connection.checkpoints(), &v1::CheckpointService::Stub::List, request);
  if (!globals.is_text()) {
    Print(ToText(response, globals.format));
    return;
  }
  const bool wide = globals.format == OutputFormat::kWide;
  std::vector<std::vector<std::string>> rows{{"STEP", "EPOCH", "VALID_LOSS", "VALID_ACC", "BEST", "SIZE", "AGE"}};
  if (wide) rows[0].insert(rows[0].end(), {"ATTEMPT", "FOLDER"});
  for (const v1::Checkpoint& c : response.checkpoints()) {
    rows.push_back({absl::StrCat(c.step()), c.has_epoch() ? absl::StrCat(c.epoch()) : "-",
                    c.has_valid_loss() ? absl::StrFormat("%.4f", c.valid_loss()) : "-",
                    c.has_valid_accuracy() ? absl::StrFormat("%.4f", c.valid_accuracy()) : "-", c.best() ? "yes" : "-",
                    SizeText(c.bytes()), AgeText(absl::Now() - absl::FromUnixSeconds(c.time().seconds()))});
    if (wide) rows.back().insert(rows.back().end(), {absl::StrCat(c.attempt()), c.folder()});
  }
  Print(TextTable(rows));
}

void RunVerify(const std::string& text, Globals& globals) {
  const Name name = ParseName(text);
  Connection connection = Connection::Open(globals.connection);
  v1::VerifyCheckpointsRequest request;
  request.set_job_id(name.job);
  request.set_checkpoint(name.checkpoint);
  v1::VerifyCheckpointsResponse response;
  const auto context = connection.Context(kWholeFiles);
  Check(connection.checkpoints().Verify(context.get(), request, &response));
  std::string lines;
  for (const v1::CheckpointCondition& condition : response.conditions()) {
    absl::StrAppend(&lines, "step ", condition.step(), condition.damages().empty() ? " OK\n" : " DAMAGED\n");
    if (!condition.damages().empty()) globals.exit_code = kJobFailed;
    for (const v1::FileDamage& damage : condition.damages()) {
      absl::StrAppend(&lines, "  ", EscapeControls(damage.path()),
                      "\n    expected: ", EscapeControls(damage.expected()),
                      "\n    found:    ", EscapeControls(damage.found()), "\n");
    }
  }
  if (lines.empty()) lines = "the job has no checkpoint\n";
  Print(globals.is_text() ? lines : ToText(response, globals.format));
}

v1::WeightsFormat FormatOf(const ExportFlags& flags) {
  const bool pt = absl::EndsWith(flags.file, ".pt") || absl::EndsWith(flags.file, ".pth");
  if (flags.format == "pt" || (flags.format.empty() && pt)) return v1::WEIGHTS_FORMAT_PT;
  if (!flags.format.empty() || absl::EndsWith(flags.file, ".safetensors")) return v1::WEIGHTS_FORMAT_SAFETENSORS;
  throw ExitError(kUsage, absl::StrCat("-o ", EscapeControls(flags.file),
                                       ": end the name with .pt or .safetensors, or say --format pt|safetensors"));
}

void RunExport(const ExportFlags& flags, const Globals& globals) {
  const Name name = ParseName(flags.checkpoint);
  v1::ExportCheckpointRequest request;
  request.set_job_id(name.job);
  request.set_checkpoint(name.checkpoint);
  request.set_format(FormatOf(flags));
  Connection connection = Connection::Open(globals.connection);
  NewFile file(flags.file, flags.force);
  const auto context = connection.Context(kWholeFiles);
  const auto stream = connection.checkpoints().Export(context.get(), request);
  v1::WeightsHeader header;
  for (v1::ExportCheckpointResponse part; stream->Read(&part);) {
    if (part.has_header()) header = part.header();
    file.Append(part.piece());
  }
  Check(stream->Finish());
  if (file.size() != header.bytes()) {
    throw ExitError(kRefused,
                    absl::StrCat(file.size(), " bytes came instead of ", header.bytes(), "; nothing was kept"));
  }
  file.Commit();
  Print(globals.is_text() ? absl::StrCat(EscapeControls(flags.file), ": step ", header.step(), ", ", header.tensors(),
                                         " tensors, ", SizeText(header.bytes()), "\n")
                          : ToText(header, globals.format));
}

void RunImport(const std::string& path, const Globals& globals) {
  // Opened first, so that a wrong name starts no daemon.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    throw ExitError(kUsage,
                    std::string(ErrnoStatus(errno, absl::StrCat("cannot open ", EscapeControls(path))).message()));
  }
  if (!S_ISREG(info.st_mode)) throw ExitError(kUsage, EscapeControls(path) + " is not a regular file");
  Connection connection = Connection::Open(globals.connection);
  v1::ImportCheckpointResponse response;
  const auto context = connection.Context(kWholeFiles);
  const auto stream = connection.checkpoints().Import(context.get(), &response);
  v1::ImportCheckpointRequest part;
  part.mutable_header()->set_name(path);
  part.mutable_header()->set_bytes(info.st_size);
  // A daemon that refuses ends the stream; Finish says why.
  bool open = stream->Write(part);
  for (std::string piece(kPiece, '\0'); open;) {
    const ssize_t n = read(fd.get(), piece.data(), piece.size());
    if (n < 0) {
      context->TryCancel();
      throw ExitError(kUsage, std::string(ErrnoStatus(errno, absl::StrCat("cannot read ", path)).message()));
    }
    if (n == 0) break;
    part.set_piece(piece.data(), static_cast<size_t>(n));
    open = stream->Write(part);
  }
  stream->WritesDone();
  Check(stream->Finish());
  if (!globals.is_text()) {
    Print(ToText(response, globals.format));
    return;
  }
  Say(absl::StrCat(response.tensors(), " tensors, ", SizeText(response.bytes()),
                   "; use it with: ddpctl submit --init-from ", response.path(), "\n"));
  Print(response.path() + "\n");
}

void RunImports(const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  const v1::ListImportsResponse response =
      Call(connection, connection.checkpoints(), &v1::CheckpointService::Stub::ListImports, v1::ListImportsRequest());
  if (!globals.is_text()) {
    Print(ToText(response, globals.format));
    return;
  }
  const bool wide = globals.format == OutputFormat::kWide;
  std::vector<std::vector<std::string>> rows{{"ID", "SIZE", "AGE", "JOBS"}};
  if (wide) rows[0].push_back("PATH");
  for (const v1::ImportedWeights& w : response.imports()) {
    rows.push_back({w.id(), SizeText(w.bytes()), AgeText(absl::Now() - absl::FromUnixSeconds(w.time().seconds())),
                    w.job_ids().empty() ? "-" : absl::StrJoin(w.job_ids(), " ")});
    if (wide) rows.back().push_back(w.path());
  }
  Print(TextTable(rows));
}

void RunForget(const std::string& name, const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  v1::DeleteImportRequest request;
  request.set_id(name);
  const v1::DeleteImportResponse response =
      Call(connection, connection.checkpoints(), &v1::CheckpointService::Stub::DeleteImport, request);
  Print(globals.is_text() ? absl::StrCat(response.id(), " deleted\n") : ToText(response, globals.format));
}

CLI::App& Verb(CLI::App& app, const std::string& name, const std::string& help) {
  CLI::App& verb = *app.add_subcommand(name, help);
  verb.fallthrough();
  return verb;
}

}  // namespace

void AddCheckpoints(CLI::App& app, Globals& globals) {
  CLI::App& family = *app.add_subcommand("checkpoints", "Look at checkpoints, check them, take weights out and in");
  family.require_subcommand(1);
  family.fallthrough();

  auto listed = std::make_shared<std::string>();
  CLI::App& list = Verb(family, "list", "Checkpoints of a job, oldest first");
  list.add_option("JOB", *listed, "Id, or a unique beginning of it")->required();
  list.callback([listed, &globals] { RunList(*listed, globals); });

  auto verified = std::make_shared<std::string>();
  CLI::App& verify = Verb(family, "verify", "Read every byte and compare it with what was saved; exit code 1: damaged");
  verify.add_option("JOB", *verified, "JOB for all, or JOB@STEP, JOB@last, JOB@best")->required();
  verify.callback([verified, &globals] { RunVerify(*verified, globals); });

  auto exported = std::make_shared<ExportFlags>();
  CLI::App& out = Verb(family, "export", "Write a model's weights to a file of this machine");
  out.add_option("JOB", exported->checkpoint, "JOB or JOB@last for the newest checkpoint, JOB@best, JOB@STEP")
      ->required();
  CLI::Option& file = *out.add_option("-o,--file", exported->file,
                                      "FILE.pt (Python: torch.load(FILE, weights_only=True)) or FILE.safetensors");
  file.required();
  globals.offers[&file] = "FILE";
  AddChoice(out, "--format", exported->format, Words({"pt", "safetensors"}),
            "pt or safetensors, for a name that does not say it", globals);
  out.add_flag("--force", exported->force, "Replace a file that is there");
  out.callback([exported, &globals] { RunExport(*exported, globals); });

  auto imported = std::make_shared<std::string>();
  CLI::App& in = Verb(family, "import", "Give a file of weights to the daemon; prints the path for submit --init-from");
  in.add_option("FILE", *imported, "A .safetensors, or a .pt that Python's torch.save wrote from a state_dict")
      ->required();
  in.callback([imported, &globals] { RunImport(*imported, globals); });

  CLI::App& imports = Verb(family, "imports", "What has been imported, oldest first, and the jobs that start from it");
  imports.callback([&globals] { RunImports(globals); });

  auto forgotten = std::make_shared<std::string>();
  CLI::App& forget = Verb(family, "forget", "Delete imported weights that no job will start from");
  forget.add_option("IMPORT", *forgotten, "Id, a unique beginning of it, or the path that import printed")->required();
  forget.callback([forgotten, &globals] { RunForget(*forgotten, globals); });
}

}  // namespace ddp
