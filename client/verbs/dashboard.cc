// ddpctl dashboard.
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/verbs/verbs.h"
#include "common/files.h"
#include "common/process.h"

namespace ddp {

namespace {

// "": not there.
std::string FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const auto folder : absl::StrSplit(path == nullptr ? "" : path, ':', absl::SkipEmpty())) {
    const std::string program = absl::StrCat(folder, "/", name);
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

// The browser's command line can be read by every user of the machine, so the link, which holds the token, goes through
// a file that only its owner can read.
void OpenBrowser(const std::string& link, const std::string& home) {
  const std::string program = FindProgram("xdg-open");
  if (program.empty()) throw ExitError(kRefused, "there is no xdg-open here; open the link in a browser yourself");
  const std::string page = absl::StrCat(home, "/dashboard.html");
  absl::Status status = WriteFileAtomic(
      page, absl::StrCat("<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url=", link,
                         "\"><a href=\"", link, "\">ddpd</a>\n"));
  if (!status.ok()) throw ExitError(kRefused, std::string(status.message()));
  SpawnOptions options;
  options.argv = {program, page};
  for (char** variable = environ; *variable != nullptr; ++variable) options.environment.emplace_back(*variable);
  options.new_session = true;
  const absl::StatusOr<Child> child = Spawn(options);
  if (!child.ok()) throw ExitError(kRefused, std::string(child.status().message()));
}

void RunDashboard(const Globals& globals, bool open) {
  Connection connection = Connection::Open(globals.connection);
  const v1::SystemInfo info =
      Call(connection, connection.system(), &v1::SystemService::Stub::GetInfo, v1::GetInfoRequest());
  if (info.web_address().empty()) {
    throw ExitError(kRefused, "the daemon's dashboard is switched off; restart ddpd without --web none");
  }
  // A fragment never leaves the browser.
  const std::string link = absl::StrCat(info.web_address(), "/#token=", connection.token());
  Print(globals.is_text() ? link + "\n" : absl::StrCat("{\"url\": \"", link, "\"}\n"));
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) == 0 && info.hostname() != name) {
    Say(absl::StrCat("the daemon runs on ", info.hostname(), "; SECURITY.md says how to reach its page from here\n"));
  }
  if (open) OpenBrowser(link, globals.connection.home);
}

}  // namespace

void AddDashboard(CLI::App& app, Globals& globals) {
  CLI::App& verb = *app.add_subcommand("dashboard", "Prints the link of the web page, with the token in it");
  auto open = std::make_shared<bool>(false);
  verb.add_flag("--open", *open, "Open it in the browser");
  verb.callback([&globals, open] { RunDashboard(globals, *open); });
}

}  // namespace ddp
