// ddpctl.
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/completion/scripts.h"
#include "client/verbs/choice.h"
#include "client/verbs/verbs.h"
#include "common/files.h"
#include "common/text.h"

namespace ddp {

namespace {

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> VerbNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

// "--lr" of the verb and of what it belongs to.
std::vector<std::string> FlagNames(const CLI::App* verb) {
  std::vector<std::string> names;
  for (; verb != nullptr; verb = verb->get_parent()) {
    for (const CLI::Option* option : verb->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::string Unknown(const std::string& kind, const std::string& word, const std::vector<std::string>& known) {
  const std::string near = NearestName(word, known);
  return absl::StrCat("unknown ", kind, " \"", EscapeControls(word), "\"",
                      near.empty() ? "" : absl::StrCat("; did you mean ", near, "?"));
}

// What is wrong with the words of the command line: a verb or flag that does not exist or is missing, or as the parser
// says it.
std::string UsageText(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  for (const std::string& word : unknown) {
    if (word.size() > 1 && word[0] == '-') return Unknown("flag", word.substr(0, word.find('=')), FlagNames(verb));
  }
  if (verb->get_require_subcommand_min() == 0) return error.what();
  const std::vector<std::string> names = VerbNames(*verb);
  if (!unknown.empty()) return Unknown("verb", unknown[0], names);
  return verb == &app ? error.what() : absl::StrCat(verb->get_name(), " needs one of: ", absl::StrJoin(names, ", "));
}

int Run(int argc, char** argv) {
  Globals globals;
  globals.connection.home = DefaultHome();
  globals.connection.address = FromEnvironment("DDPD_ADDRESS");
  globals.connection.tls_ca = FromEnvironment("DDPD_TLS_CA");
  globals.connection.token = FromEnvironment("DDPD_TOKEN");

  CLI::App app("ddpctl steers ddpd: it submits, watches and stops training jobs.");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", "ddpctl " DDP_VERSION);
  globals.offers[app.add_option("--home", globals.connection.home, "The daemon's home ($DDPD_HOME)")
                     ->capture_default_str()] = "FOLDER";
  app.add_option("--address", globals.connection.address,
                 "HOST:PORT or, with TLS, https://HOST:PORT of the daemon ($DDPD_ADDRESS); default: from its home");
  globals.offers[app.add_option(
      "--tls-ca", globals.connection.tls_ca,
      "PEM file of the certificate or authority to trust at --address ($DDPD_TLS_CA); https://HOST:PORT without "
      "it: the system's authorities")] = "FILE";
  globals.offers[app.add_option("--token-file", globals.connection.token_file,
                                "File with the daemon's token ($DDPD_TOKEN: the token itself)")] = "FILE";
  bool no_autostart = false;
  app.add_flag("--no-autostart", no_autostart, "Do not start a daemon when none runs");
  AddChoice(app, "-o,--output", globals.format,
            {{"table", OutputFormat::kTable},
             {"wide", OutputFormat::kWide},
             {"json", OutputFormat::kJson},
             {"yaml", OutputFormat::kYaml}},
            "table, wide, json or yaml", globals)
      .type_name("FORMAT");
  app.parse_complete_callback([&] {
    globals.connection.autostart = !no_autostart;
    globals.connection.home = std::filesystem::absolute(globals.connection.home).lexically_normal();
    // A file that was named wins over the environment.
    if (!globals.connection.token_file.empty()) globals.connection.token.clear();
  });
  AddSubmit(app, globals);
  AddShow(app, globals);
  AddWatch(app, globals);
  AddTop(app, globals);
  AddSteer(app, globals);
  AddLogs(app, globals);
  AddMetrics(app, globals);
  AddHistograms(app, globals);
  AddCheckpoints(app, globals);
  AddDashboard(app, globals);
  AddDaemon(app, globals);
  AddCompletion(app, globals);
  try {
    if (argc > 2 && argv[1] == std::string(kCompleteWord)) {
      AnswerShell(app, globals, {argv + 3, argv + argc});
      return kOk;
    }
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    Say(absl::StrCat("ddpctl: ", UsageText(app, e), "\nSee: ddpctl --help, ddpctl VERB --help\n"));
    return kUsage;
  } catch (const ExitError& e) {
    std::string text = e.what();
    for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text.replace(at, 1, "\nddpctl: "), at += 9;
    Say(absl::StrCat(e.code == kDetached ? "" : "ddpctl: ", text, "\n"));
    return e.code;
  } catch (const std::exception& e) {
    // As when the working folder has been deleted.
    Say(absl::StrCat("ddpctl: ", e.what(), "\n"));
    return kRefused;
  }
  return globals.exit_code;
}

}  // namespace
}  // namespace ddp

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return ddp::Run(argc, argv);
}
