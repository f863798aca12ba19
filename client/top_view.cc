#include "client/top_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/columns.h"
#include "client/output.h"
#include "common/text.h"
#include "proto/job_state.h"

namespace ddp {

namespace {

constexpr int kCurveCells = 10;
constexpr int kLongestName = 24;
constexpr char kReverse[] = "\x1b[7m";
constexpr char kEnd[] = "\x1b[0m";

struct Column {
  const char* title;
  int keep;  // the smallest goes first when there is no room
  bool right;
};
constexpr Column kColumns[] = {{"ID", 100, false},  {"NAME", 60, false},     {"STATE", 90, false}, {"STEP", 80, true},
                               {"EPOCH", 30, true}, {"LOSS", 70, true},      {"CURVE", 20, false}, {"ACC", 50, true},
                               {"LR", 10, true},    {"SAMPLES/S", 40, true}, {"RANKS", 5, true},   {"AGE", 15, true}};
constexpr size_t kColumnCount = std::size(kColumns);

std::vector<std::string> Cells(const v1::Job& job, const Spark* curve, Glyphs glyphs, absl::Time now) {
  const v1::Progress& p = job.progress();
  const bool steps = p.step() > 0;
  return {
      job.id(),
      std::string(CutColumns(EscapeControls(job.spec().name()), kLongestName)),
      StateName(job.state()),
      p.total_steps() > 0 ? absl::StrCat(p.step(), "/", p.total_steps()) : "-",
      p.total_steps() > 0 ? absl::StrCat(std::min(p.epoch() + 1, std::max(1, p.epochs())), "/", p.epochs()) : "-",
      LossText(job),
      curve == nullptr ? "" : curve->Text(kCurveCells, glyphs),
      p.has_accuracy() ? absl::StrFormat("%.4f", p.accuracy()) : "-",
      steps ? absl::StrFormat("%g", p.lr()) : "-",
      job.state() == v1::JOB_STATE_RUNNING ? absl::StrFormat("%.0f", p.samples_per_second()) : "-",
      absl::StrCat(job.spec().resources().nproc()),
      AgeText(now - absl::FromUnixSeconds(job.create_time().seconds())),
  };
}

// Rows of cells, the first one the titles, as lines: columns that do not fit are left out.
std::vector<std::string> Lines(const std::vector<std::vector<std::string>>& rows, int width) {
  std::vector<int> widths(kColumnCount, 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < kColumnCount; ++i) widths[i] = std::max(widths[i], Columns(row[i]));
  }
  std::vector<bool> shown(kColumnCount, true);
  const auto total = [&] {
    int sum = -2;
    for (size_t i = 0; i < kColumnCount; ++i) sum += shown[i] ? widths[i] + 2 : 0;
    return sum;
  };
  while (total() > width) {
    size_t least = 0;
    for (size_t i = 1; i < kColumnCount; ++i) {
      if (shown[i] && kColumns[i].keep < kColumns[least].keep) least = i;
    }
    if (least == 0) break;  // a job's id is always there
    shown[least] = false;
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    bool first = true;
    for (size_t i = 0; i < kColumnCount; ++i) {
      if (!shown[i]) continue;
      const std::string room(static_cast<size_t>(widths[i] - Columns(row[i])), ' ');
      absl::StrAppend(&line, first ? "" : "  ", kColumns[i].right ? room : "", row[i], kColumns[i].right ? "" : room);
      first = false;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.emplace_back(CutColumns(line, width));
  }
  return lines;
}

// "slots: 0-1 0abc, 2 free"
std::string SlotsText(const v1::SystemInfo& info) {
  std::string text;
  const auto& slots = info.slots();
  for (int begin = 0, end = 0; begin < slots.size(); begin = end) {
    while (end < slots.size() && slots[end].job_id() == slots[begin].job_id()) ++end;
    absl::StrAppend(&text, text.empty() ? "slots: " : ", ", slots[begin].index());
    if (end - begin > 1) absl::StrAppend(&text, "-", slots[end - 1].index());
    absl::StrAppend(&text, " ", slots[begin].job_id().empty() ? "free" : slots[begin].job_id());
  }
  return text;
}

const char* Verb(TopAction::Kind kind) {
  return kind == TopAction::kCancel ? "cancel" : kind == TopAction::kPause ? "pause" : "resume";
}

}  // namespace

void TopView::Update(std::vector<v1::Job> jobs, v1::SystemInfo info) {
  // Ids rise with the time at which they were made.
  std::sort(jobs.begin(), jobs.end(), [](const v1::Job& a, const v1::Job& b) {
    return std::pair(IsEnded(b.state()), a.id()) > std::pair(IsEnded(a.state()), b.id());
  });
  std::map<std::string, Spark> curves;
  for (const v1::Job& job : jobs) {
    Spark& curve = curves[job.id()];
    if (const auto known = curves_.find(job.id()); known != curves_.end()) curve = std::move(known->second);
    if (job.progress().step() > 0) curve.Add(job.progress().step(), job.progress().loss());
  }
  curves_ = std::move(curves);
  jobs_ = std::move(jobs);
  info_ = std::move(info);
  seen_ = true;
}

size_t TopView::Selected() const {
  const auto found =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const v1::Job& job) { return job.id() == selected_; });
  return found == jobs_.end() ? 0 : static_cast<size_t>(found - jobs_.begin());
}

void TopView::Select(size_t index) {
  if (index < jobs_.size()) selected_ = jobs_[index].id();
}

void TopView::Ask(TopAction::Kind kind) {
  if (!jobs_.empty()) asked_ = {kind, jobs_[Selected()].id()};
}

TopAction TopView::Press(Key key) {
  message_.clear();
  if (key == Key::kInterrupt) return {TopAction::kInterrupt};
  if (key == Key::kSuspend) return {TopAction::kSuspend};
  if (asked_.kind != TopAction::kNone) {
    const TopAction asked = std::exchange(asked_, {});
    return key == Key::kYes ? asked : TopAction{};
  }
  switch (key) {
    case Key::kUp:
      if (Selected() > 0) Select(Selected() - 1);
      break;
    case Key::kDown:
      Select(Selected() + 1);
      break;
    case Key::kEnter:
      if (!jobs_.empty()) return {TopAction::kWatch, jobs_[Selected()].id()};
      break;
    case Key::kCancel:
      Ask(TopAction::kCancel);
      break;
    case Key::kPause:
      Ask(TopAction::kPause);
      break;
    case Key::kResume:
      Ask(TopAction::kResume);
      break;
    case Key::kQuit:
      return {TopAction::kQuit};
    default:
      break;
  }
  return {};
}

std::string TopView::Head(absl::Time now) const {
  if (!trouble_.empty()) {
    return absl::StrCat(EscapeControls(trouble_), "; ",
                        seen_ ? absl::StrCat("this is ", AgeText(now - told_), " old") : "looking for it ...");
  }
  if (!seen_) return "asking the daemon ...";
  const auto live = std::count_if(jobs_.begin(), jobs_.end(), [](const v1::Job& job) { return !IsEnded(job.state()); });
  return absl::StrCat("ddpd ", EscapeControls(info_.version()), " on ", EscapeControls(info_.hostname()), "  ", live,
                      " live of ", jobs_.size(), jobs_.size() == 1 ? " job" : " jobs");
}

std::string TopView::Foot() const {
  if (asked_.kind != TopAction::kNone) return absl::StrCat(Verb(asked_.kind), " ", asked_.job, "? y/n");
  if (!message_.empty()) return EscapeControls(message_);
  return glyphs_ == Glyphs::kUnicode ? "q quit  ↑↓ select  enter watch  c cancel  p pause  r resume"
                                     : "q quit  j/k select  enter watch  c cancel  p pause  r resume";
}

std::vector<std::string> TopView::Frame(int width, int height, absl::Time now, bool marks) const {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& text) { lines.emplace_back(CutColumns(text, width)); };
  add(Head(now));
  add(SlotsText(info_));
  std::vector<std::vector<std::string>> rows{{}};
  for (const Column& column : kColumns) rows[0].emplace_back(column.title);
  // The part of the list that holds the selected job: headings above, a line of keys below.
  const size_t room = static_cast<size_t>(std::max(1, height - 4));
  const size_t first = Selected() < room ? 0 : Selected() - room + 1;
  for (size_t i = first; i < jobs_.size() && i < first + room; ++i) {
    const auto curve = curves_.find(jobs_[i].id());
    rows.push_back(Cells(jobs_[i], curve == curves_.end() ? nullptr : &curve->second, glyphs_, now));
  }
  const std::vector<std::string> table = Lines(rows, width);
  add(table[0]);
  for (size_t i = 1; i < table.size(); ++i) {
    const bool selected = marks && first + i - 1 == Selected();
    lines.push_back(selected ? absl::StrCat(kReverse, table[i], kEnd) : table[i]);
  }
  if (marks) add(Foot());
  if (lines.size() > static_cast<size_t>(std::max(0, height))) lines.resize(static_cast<size_t>(std::max(0, height)));
  return lines;
}

}  // namespace ddp
