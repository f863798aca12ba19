#include "worker/data/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddp {
namespace {

using ::testing::HasSubstr;
using Rows = std::vector<std::vector<std::string>>;

absl::StatusOr<Rows> Parse(std::string_view text, char separator = ',', bool whole = true) {
  CsvReader reader(text, "f.csv", separator, whole);
  Rows rows;
  for (;;) {
    absl::StatusOr<bool> more = reader.Next();
    if (!more.ok()) return more.status();
    if (!*more) return rows;
    rows.emplace_back();
    for (const CsvField& field : reader.fields()) rows.back().emplace_back(field.value);
  }
}

std::string ErrorOf(std::string_view text) {
  const auto rows = Parse(text);
  return rows.ok() ? "OK" : std::string(rows.status().message());
}

TEST(CsvTest, Good) {
  EXPECT_EQ(*Parse("a,b\n1,2\n"), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(*Parse("a,b\r\n1,2"), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(*Parse("\xEF\xBB\xBF"
                   "a\n1\n"),
            (Rows{{"a"}, {"1"}}));
  EXPECT_EQ(*Parse("a,b\n\"x, \"\"y\"\"\nz\",\n"), (Rows{{"a", "b"}, {"x, \"y\"\nz", ""}}));
  EXPECT_EQ(*Parse("a\tb\n1,5\t2\n", '\t'), (Rows{{"a", "b"}, {"1,5", "2"}}));
  EXPECT_EQ(*Parse(""), Rows{});
}

TEST(CsvTest, ErrorsNameTheLine) {
  EXPECT_THAT(ErrorOf("a,b\n1,2\n1,2,3\n"), HasSubstr("f.csv:3: "));
  EXPECT_THAT(ErrorOf("a,b\n1\n"), HasSubstr("f.csv:2: "));
  EXPECT_THAT(ErrorOf("a,b\n\"x\ny\",1\n1\n"), HasSubstr("f.csv:4: "));
  EXPECT_THAT(ErrorOf("a,b\n1,2\n\n"), HasSubstr("f.csv:3: an empty line, 2 fields are needed"));
  for (const char* empty : {"a\n1\n\n2\n", "a\r\n1\r\n\r\n2\r\n", "a\n1\n\n"}) {
    EXPECT_EQ(ErrorOf(empty), "f.csv:3: an empty line; delete it, or write \"\" for an empty field");
  }
  EXPECT_THAT(ErrorOf("\na\n"), HasSubstr("f.csv:1: an empty line"));
  EXPECT_EQ(*Parse("a\n\"\"\n2\n"), (Rows{{"a"}, {""}, {"2"}}));
  EXPECT_THAT(ErrorOf("a,b\n1,\"x\n"), HasSubstr("f.csv:2: "));
  EXPECT_THAT(ErrorOf("a,b\n1,x\"y\n"), HasSubstr("f.csv:2: "));
  EXPECT_THAT(ErrorOf(std::string_view("a\n\0\n", 4)), HasSubstr("NUL byte"));
  EXPECT_THAT(ErrorOf(std::string_view("\xFF\xFE"
                                       "a\0",
                                       4)),
              HasSubstr("UTF-16"));
}

TEST(CsvTest, CutContentLosesOnlyTheCutRecord) {
  EXPECT_EQ(*Parse("a,b\n1,2\n3,4", ',', /*whole=*/false), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(*Parse("a,b\n1,2\n\"3", ',', /*whole=*/false), (Rows{{"a", "b"}, {"1", "2"}}));
}

}  // namespace
}  // namespace ddp
