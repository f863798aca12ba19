#include "worker/data/wordnet.h"

#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/formats/input_file.h"

namespace ddp {
namespace {

// lexnames(5WN), in the order of their numbers.
constexpr std::array<std::string_view, 45> kLexNames = {"adj.all",          "adj.pert",           "adv.all",
                                                        "noun.Tops",        "noun.act",           "noun.animal",
                                                        "noun.artifact",    "noun.attribute",     "noun.body",
                                                        "noun.cognition",   "noun.communication", "noun.event",
                                                        "noun.feeling",     "noun.food",          "noun.group",
                                                        "noun.location",    "noun.motive",        "noun.object",
                                                        "noun.person",      "noun.phenomenon",    "noun.plant",
                                                        "noun.possession",  "noun.process",       "noun.quantity",
                                                        "noun.relation",    "noun.shape",         "noun.state",
                                                        "noun.substance",   "noun.time",          "verb.body",
                                                        "verb.change",      "verb.cognition",     "verb.communication",
                                                        "verb.competition", "verb.consumption",   "verb.contact",
                                                        "verb.creation",    "verb.emotion",       "verb.motion",
                                                        "verb.perception",  "verb.possession",    "verb.social",
                                                        "verb.stative",     "verb.weather",       "adj.ppl"};
constexpr std::array<std::string_view, 4> kParts = {"noun", "verb", "adj", "adv"};

bool InPart(std::string_view lex_name, std::string_view part) {
  return part.empty() || (lex_name.substr(0, part.size()) == part && lex_name[part.size()] == '.');
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view TrimRight(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// "00001740 03 n 01 entity 0 003 ~ ... | gloss": the number of the lexicographer file and the gloss.
struct Synset {
  size_t lex_number = 0;
  std::string_view gloss;
};
bool ParseLine(std::string_view line, Synset* synset) {
  const size_t bar = line.find(" | ");
  if (line.size() < 12 || line[8] != ' ' || !IsDigit(line[9]) || !IsDigit(line[10]) || line[11] != ' ' ||
      bar == std::string_view::npos) {
    return false;
  }
  synset->lex_number = static_cast<size_t>((line[9] - '0') * 10 + (line[10] - '0'));
  synset->gloss = TrimRight(line.substr(bar + 3));
  return synset->lex_number < kLexNames.size() && !synset->gloss.empty();
}

absl::Status ReadPart(const std::string& path, const std::array<int32_t, kLexNames.size()>& class_of, int64_t max_rows,
                      const StopCheck& should_stop, RawSamples* samples) {
  absl::StatusOr<InputFile> file = ReadInput(path);
  if (absl::IsNotFound(file.status())) {
    return absl::NotFoundError(absl::StrCat(
        path,
        " is missing: the data set wordnet needs the Debian package wordnet-base (apt-get install wordnet-base)"));
  }
  DDP_RETURN_IF_ERROR(file.status());
  std::string_view rest = file->content;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (line.substr(0, 2) != "  ") {  // two spaces: the licence
      Synset synset;
      if (!ParseLine(line, &synset) || class_of[synset.lex_number] < 0 || !IsValidUtf8(synset.gloss)) {
        return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": not a line of a WordNet data file: '",
                                                       EscapeControls(line.substr(0, 60)), "'"));
      }
      if (samples->size == max_rows) {
        samples->whole = false;
        return absl::OkStatus();
      }
      samples->texts.Add(synset.gloss);
      samples->labels.push_back(class_of[synset.lex_number]);
      if (++samples->size % kStopCheckEvery == 0 && should_stop && should_stop()) return StoppedError();
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> WordnetFiles(const std::string& folder, std::string_view part) {
  std::vector<std::string> paths;
  for (const std::string_view name : kParts) {
    if (part.empty() || name == part) paths.push_back(absl::StrCat(folder, "/data.", std::string(name)));
  }
  return paths;
}

absl::StatusOr<RawSamples> ReadWordnet(const std::string& folder, std::string_view part, int64_t max_rows,
                                       const StopCheck& should_stop) {
  RawSamples samples;
  samples.has_text = true;
  std::array<int32_t, kLexNames.size()> class_of{};
  class_of.fill(-1);
  for (size_t i = 0; i < kLexNames.size(); ++i) {
    if (!InPart(kLexNames[i], part)) continue;
    class_of[i] = static_cast<int32_t>(samples.label_names.size());
    samples.label_names.emplace_back(kLexNames[i]);
  }
  for (const std::string& path : WordnetFiles(folder, part)) {
    DDP_RETURN_IF_ERROR(ReadPart(path, class_of, max_rows, should_stop, &samples));
    if (!samples.whole) break;
  }
  return samples;
}

}  // namespace ddp
