// ddpctl daemon start|stop|status, ddpctl version.
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "client/daemon_process.h"
#include "client/text_table.h"
#include "client/verbs/verbs.h"

namespace ddp {

namespace {

v1::SystemInfo Info(Connection& connection) {
  return Call(connection, connection.system(), &v1::SystemService::Stub::GetInfo, v1::GetInfoRequest());
}

std::string Summary(const v1::SystemInfo& info) {
  return absl::StrCat("ddpd ", info.version(), " (pid ", info.pid(), ") listens on ", info.address(), ", dashboard ",
                      info.web_address().empty() ? "off" : info.web_address(), ", home ", info.home(), "\n");
}

void RunStart(const Globals& globals) {
  ConnectionOptions options = globals.connection;
  options.autostart = true;
  Connection connection = Connection::Open(options);
  const v1::SystemInfo info = Info(connection);
  Print(globals.is_text() ? Summary(info) : ToText(info, globals.format));
}

void RunStop(const Globals& globals) {
  const std::unique_ptr<Connection> connection = Connection::Find(globals.connection);
  if (connection == nullptr) throw ExitError(kNoDaemon, "no daemon runs");
  const v1::SystemInfo info = Info(*connection);
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0 || info.hostname() != name) {
    throw ExitError(kRefused, absl::StrCat("the daemon runs on ", info.hostname(), "; stop it there"));
  }
  StopDaemon(info.pid(), absl::Seconds(15));
  Print(globals.is_text() ? "stopped; running jobs go on and are found again by the next daemon\n"
                          : ToText(info, globals.format));
}

void RunStatus(const Globals& globals) {
  const std::unique_ptr<Connection> connection = Connection::Find(globals.connection);
  if (connection == nullptr) throw ExitError(kNoDaemon, "no daemon runs");
  const v1::SystemInfo info = Info(*connection);
  if (!globals.is_text()) {
    Print(ToText(info, globals.format));
    return;
  }
  std::vector<std::vector<std::string>> rows{{"SLOT", "DEVICE", "JOB"}};
  for (const v1::Slot& slot : info.slots()) {
    rows.push_back({absl::StrCat(slot.index()), slot.name(), slot.job_id().empty() ? "free" : slot.job_id()});
  }
  Print(Summary(info) + TextTable(rows));
}

void RunVersion(const Globals& globals) {
  v1::SystemInfo info;
  const std::unique_ptr<Connection> connection = Connection::Find(globals.connection);
  if (connection != nullptr) info = Info(*connection);
  if (!globals.is_text()) {
    Print(absl::StrCat("{\"ddpctl\": \"", DDP_VERSION, "\", \"ddpd\": \"", info.version(), "\"}\n"));
    return;
  }
  Print(absl::StrCat("ddpctl ", DDP_VERSION, "\n",
                     connection ? absl::StrCat("ddpd ", info.version(), "\n") : std::string("no daemon runs\n")));
}

}  // namespace

void AddDaemon(CLI::App& app, Globals& globals) {
  CLI::App& daemon = *app.add_subcommand("daemon", "The daemon on this machine");
  daemon.require_subcommand(1);
  daemon.fallthrough();
  daemon.add_subcommand("start", "Start it unless it runs")->fallthrough()->callback([&globals] { RunStart(globals); });
  daemon.add_subcommand("stop", "Stop it; jobs go on")->fallthrough()->callback([&globals] { RunStop(globals); });
  daemon.add_subcommand("status", "Address and slots")->fallthrough()->callback([&globals] { RunStatus(globals); });
  app.add_subcommand("version", "Versions of ddpctl and of the daemon")->callback([&globals] { RunVersion(globals); });
}

}  // namespace ddp
