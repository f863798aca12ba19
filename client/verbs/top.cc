// ddpctl top.
#include <unistd.h>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/terminal.h"
#include "client/verbs/top_feed.h"
#include "client/verbs/top_screen.h"
#include "client/verbs/verbs.h"

namespace ddp {

namespace {

void Once(const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  TopSnapshot snapshot = TakeSnapshot(connection);
  TopView view(LocaleGlyphs());
  const int rows = static_cast<int>(snapshot.jobs.size()) + 4;
  view.Update(std::move(snapshot.jobs), std::move(snapshot.info));
  const int width = TerminalColumns(STDOUT_FILENO).value_or(120);
  PrintDrawing(absl::StrJoin(view.Frame(width, rows, absl::Now(), /*marks=*/false), "\n") + "\n");
}

void RunTop(bool once, const Globals& globals) {
  if (!globals.is_text()) throw ExitError(kUsage, "top draws; for programs there is: ddpctl list -o json");
  if (once) {
    Once(globals);
    return;
  }
  if (!IsTerminal(STDIN_FILENO) || !IsTerminal(STDOUT_FILENO)) {
    throw ExitError(kUsage, "top needs a terminal that moves its cursor (TERM is not dumb); --once prints one frame");
  }
  TopScreen(globals).Run();
}

}  // namespace

void AddTop(CLI::App& app, Globals& globals) {
  CLI::App& verb = *app.add_subcommand("top", "All jobs and slots, live, with keys to watch, cancel, pause and resume");
  auto once = std::make_shared<bool>(false);
  verb.add_flag("--once", *once, "Print them once, for pipes");
  verb.callback([once, &globals] { RunTop(*once, globals); });
}

}  // namespace ddp
