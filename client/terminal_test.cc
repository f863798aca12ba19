#include "client/terminal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "client/testing/pty.h"
#include "common/files.h"

namespace ddp {
namespace {

Terminal::LiveLine Text(const std::string& text) {
  return [text](int) { return text; };
}

TEST(TerminalTest, LinesGoAboveTheLiveLineInOneWrite) {
  Pty pty;
  Terminal terminal(pty.fd());
  EXPECT_EQ(terminal.width(), 79);
  terminal.Print("before");
  ExpectOutput(pty, "before\r\n");
  terminal.Live(Text("bar 1"));
  ExpectOutput(pty, "\r\x1b[Kbar 1");
  terminal.Print("event");
  ExpectOutput(pty, "\r\x1b[Kevent\r\nbar 1");
  terminal.ClearLive();
  ExpectOutput(pty, "\r\x1b[K");
  terminal.Print("after");
  ExpectOutput(pty, "after\r\n");
}

TEST(TerminalTest, WhatComesTooSoonIsDrawnLaterAndOnlyTheNewest) {
  Pty pty;
  Terminal terminal(pty.fd());
  terminal.Live(Text("bar 1"));
  ExpectOutput(pty, "\r\x1b[Kbar 1");
  terminal.Live(Text("bar 2"));
  terminal.Live(Text("bar 3"));
  ExpectOutput(pty, "\r\x1b[Kbar 3");
}

TEST(TerminalTest, AnEventBringsTheNewestLiveLineAndNothingIsDrawnAfterTheEnd) {
  Pty pty;
  {
    Terminal terminal(pty.fd());
    terminal.Live(Text("bar 1"));
    terminal.Live(Text("bar 2"));
    terminal.Print("event");
    ExpectOutput(pty, "\r\x1b[Kbar 1\r\x1b[Kevent\r\nbar 2");
    terminal.Live(Text("bar 3"));
  }
  ExpectOutput(pty, "\r\x1b[K");
}

TEST(TerminalTest, ControlCharactersAreShownNotObeyed) {
  Pty pty;
  Terminal terminal(pty.fd());
  terminal.Print("a \x1b[2J\xC2\x9B\rb\n  c \\n");
  ExpectOutput(pty, "a \\x1B[2J\\xC2\\x9B\\x0Db\r\n  c \\n\r\n");
  terminal.Live(Text("x\n\x1b[A"));
  ExpectOutput(pty, "\r\x1b[Kx\\n\\x1B[A");
}

TEST(TerminalTest, ANewSizeIsDrawnAtOnceAndTheWrappedLineGoes) {
  Pty pty;
  Terminal terminal(pty.fd());
  const auto bar = [](int width) { return std::string(static_cast<size_t>(width), '#'); };
  terminal.Live(bar);
  ExpectOutput(pty, "\r\x1b[K" + std::string(79, '#'));
  // 79 columns on a terminal of 30 are three rows; the cursor is in the last one.
  pty.Resize(30);
  ExpectOutput(pty, "\x1b[A\x1b[A\r\x1b[J" + std::string(29, '#'));
  pty.Resize(40);
  ExpectOutput(pty, "\r\x1b[K" + std::string(39, '#'));
  terminal.Print("event");
  ExpectOutput(pty, "\r\x1b[Kevent\r\n" + std::string(39, '#'));
}

TEST(PlainTerminalTest, NoEscapeCodesWithoutATerminal) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const UniqueFd out(fds[0]);
  const UniqueFd in(fds[1]);
  Terminal terminal(in.get());
  EXPECT_EQ(terminal.width(), 120);
  terminal.Live(Text("bar 1"));
  terminal.Live(Text("bar 2"));
  terminal.Print("event");
  terminal.ClearLive();
  char buffer[100];
  const ssize_t n = read(out.get(), buffer, sizeof(buffer));
  EXPECT_EQ(std::string(buffer, static_cast<size_t>(n)), "bar 1\nevent\n");
}

}  // namespace
}  // namespace ddp
