// An option that takes one of a few words.
#ifndef DDP_CLIENT_VERBS_CHOICE_H_
#define DDP_CLIENT_VERBS_CHOICE_H_

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/verbs/verbs.h"
#include "common/text.h"

namespace ddp {

template <typename T>
using Choices = std::vector<std::pair<std::string, T>>;

// The words are what the parser takes (in upper case, too), what its refusal lists and what shells are offered.
template <typename T>
CLI::Option& AddChoice(CLI::App& verb, const std::string& name, T& value, const Choices<T>& choices,
                       const std::string& help, Globals& globals) {
  std::vector<std::string> words;
  for (const auto& [word, meaning] : choices) words.push_back(word);
  CLI::Option& option = *verb.add_option_function<std::string>(
      name,
      [name, choices, words, &value](const std::string& given) {
        for (const auto& [word, meaning] : choices) {
          if (word != absl::AsciiStrToLower(given)) continue;
          value = meaning;
          return;
        }
        throw CLI::ValidationError(
            name.substr(name.find_last_of(',') + 1),
            absl::StrCat("must be one of ", absl::StrJoin(words, ", "), "; got \"", EscapeControls(given), "\""));
      },
      help);
  globals.offers[&option] = absl::StrJoin(words, "|");
  return option;
}

// For a value that is the word itself.
inline Choices<std::string> Words(const std::vector<std::string>& words) {
  Choices<std::string> choices;
  for (const std::string& word : words) choices.emplace_back(word, word);
  return choices;
}

}  // namespace ddp

#endif  // DDP_CLIENT_VERBS_CHOICE_H_
