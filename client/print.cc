#include "client/print.h"

#include <unistd.h>

#include "client/exit_codes.h"
#include "common/files.h"
#include "common/text.h"

namespace ddp {

void Print(const std::string& text) { PrintDrawing(isatty(STDOUT_FILENO) == 1 ? EscapeForTerminal(text) : text); }

void PrintDrawing(const std::string& text) {
  if (!WriteAll(STDOUT_FILENO, text).ok()) _exit(kOk);
}

void Say(const std::string& text) {
  // A closed standard error is no reason to stop.
  WriteAll(STDERR_FILENO, EscapeForTerminal(text)).IgnoreError();
}

}  // namespace ddp
