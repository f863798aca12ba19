#include "worker/checkpoint/unpickler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/formats/little_endian.h"
#include "worker/formats/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

// Pieces of pickles, by hand after Python's pickletools.
const std::string kProto = "\x80\x02";
const std::string kRebuild = "ctorch._utils\n_rebuild_tensor_v2\n";
const std::string kFloats = "ctorch\nFloatStorage\n";

std::string Text(const std::string& text) { return "X" + LittleEndian(static_cast<uint32_t>(text.size())) + text; }
std::string Int(int32_t number) { return "J" + LittleEndian(number); }
std::string Ints(const std::vector<int32_t>& numbers) {
  std::string text = "(";
  for (const int32_t number : numbers) text += Int(number);
  return text + "t";
}
std::string Storage(int32_t elements, const std::string& key = "0") {
  return "(" + Text("storage") + kFloats + Text(key) + Text("cpu") + Int(elements) + "tQ";
}
std::string Tensor(const std::string& storage, int32_t offset, const std::vector<int32_t>& shape,
                   const std::vector<int32_t>& strides) {
  return kRebuild + "(" + storage + Int(offset) + Ints(shape) + Ints(strides) + "\x89}tR";
}
std::string Dict(const std::string& items) { return kProto + "}(" + items + "u."; }

std::string ErrorOf(const std::string& pickle) {
  const auto tensors = ReadStateDict(pickle);
  return tensors.ok() ? "OK" : std::string(tensors.status().message());
}

TEST(StateDictTest, TensorsByName) {
  const auto tensors = ReadStateDict(
      Dict(Text("w") + Tensor(Storage(6), 0, {2, 3}, {3, 1}) + Text("b") + Tensor(Storage(9, "1"), 2, {3}, {2})));
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 2u);
  const StoredTensor& w = (*tensors)[0];
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.dtype, "F32");
  EXPECT_EQ(w.storage, "0");
  EXPECT_EQ(w.storage_bytes, 24u);
  EXPECT_EQ(w.bytes, 24u);
  EXPECT_THAT(w.shape, ElementsAre(2, 3));
  EXPECT_THAT(w.strides, ElementsAre(3, 1));
  EXPECT_EQ((*tensors)[1].offset, 2u);
  EXPECT_EQ((*tensors)[1].bytes, 12u);
}

TEST(StateDictTest, CodeIsRefusedByItsName) {
  EXPECT_THAT(ErrorOf(kProto + "cposix\nsystem\n(" + Text("id") + "tR."),
              HasSubstr("byte 2: posix.system is not a tensor's type: this file could run code; refused"));
  EXPECT_THAT(ErrorOf(kProto + "c__builtin__\neval\n."), HasSubstr("__builtin__.eval is not a tensor's type"));
  EXPECT_THAT(ErrorOf(kProto + "cbuiltins\ngetattr\n."), HasSubstr("builtins.getattr"));
  EXPECT_THAT(ErrorOf(kProto + "ctorch\nload\n."), HasSubstr("torch.load"));
  EXPECT_THAT(ErrorOf(kProto + "ctorch\nhub.load\n."), HasSubstr("torch.hub.load"));
  EXPECT_THAT(ErrorOf(kProto + "ctorch.FloatStorage\n__class__\n."), HasSubstr("torch.FloatStorage.__class__"));
  EXPECT_THAT(ErrorOf(kProto + "ctorch\n\x1b[31m\n."), HasSubstr("torch.\\x1B[31m"));
}

TEST(StateDictTest, OpcodesThatMakeObjectsAreRefused) {
  for (const std::string op : {"i", "o", "\x81", "\x82", "\x83", "\x84", "\x92", "\x93", "\x95", "P", "S", "V", "\x8c",
                               "\x8d", "\x97", "\x98", "2", "0", "1"}) {
    EXPECT_THAT(ErrorOf(kProto + "N" + op + "posix\nsystem\n"), HasSubstr("byte 3: opcode 0x")) << op;
  }
}

TEST(StateDictTest, CallsOfAnythingElseAreRefused) {
  EXPECT_THAT(ErrorOf(kProto + Text("x") + ")R."), HasSubstr("a call of a str; refused"));
  EXPECT_THAT(ErrorOf(kProto + kFloats + ")R."), HasSubstr("a call of torch.FloatStorage; refused"));
  EXPECT_THAT(ErrorOf(kProto + kRebuild + ")R."), HasSubstr("a tensor with wrong arguments"));
  EXPECT_THAT(ErrorOf(kProto + kRebuild + "}R."), HasSubstr("without a tuple"));
  EXPECT_THAT(ErrorOf(kProto + "ccollections\nOrderedDict\n(]tR."),
              HasSubstr("an OrderedDict with arguments; refused"));
  EXPECT_THAT(ErrorOf(kProto + "ctorch._utils\n_rebuild_parameter\n(NNNtR."), HasSubstr("no tensor"));
  EXPECT_THAT(ErrorOf(kProto + "]}b."), HasSubstr("attributes for a list; refused"));
  EXPECT_THAT(ErrorOf(Dict(Text("a") + "(" + Text("module") + kFloats + Text("0") + Text("cpu") + Int(1) + "tQ")),
              HasSubstr("no storage of a tensor; refused"));
}

TEST(StateDictTest, TensorsThatReachOutOfTheirStorage) {
  const auto of = [](const std::string& tensor) { return ErrorOf(Dict(Text("a") + tensor)); };
  EXPECT_EQ(of(Tensor(Storage(6), 0, {2, 3}, {3, 1})), "OK");
  EXPECT_EQ(of(Tensor(Storage(6), 5, {}, {})), "OK");
  EXPECT_EQ(of(Tensor(Storage(1), 0, {1000}, {0})), "OK");
  EXPECT_EQ(of(Tensor(Storage(0), 0, {0, 3}, {3, 1})), "OK");
  EXPECT_THAT(of(Tensor(Storage(6), 1, {2, 3}, {3, 1})), HasSubstr("beyond its storage"));
  EXPECT_THAT(of(Tensor(Storage(6), 6, {}, {})), HasSubstr("beyond its storage"));
  EXPECT_THAT(of(Tensor(Storage(5), 0, {2, 3}, {3, 1})), HasSubstr("beyond its storage"));
  EXPECT_THAT(of(Tensor(Storage(6), -1, {2}, {1})), HasSubstr("wrong arguments"));
  EXPECT_THAT(of(Tensor(Storage(6), 0, {2}, {-1})), HasSubstr("no natural number"));
  EXPECT_THAT(of(Tensor(Storage(6), 0, {-2}, {1})), HasSubstr("no natural number"));
  EXPECT_THAT(of(Tensor(Storage(6), 0, {2, 3}, {1})), HasSubstr("more or fewer strides"));
  EXPECT_THAT(of(Tensor(Storage(-6), 0, {2}, {1})), HasSubstr("impossible size"));
  EXPECT_THAT(of(Tensor(Storage(6), 0, {1 << 30, 1 << 30, 1 << 30}, {0, 0, 0})), HasSubstr("impossible size"));
  EXPECT_THAT(of(Tensor(Storage(6), 0, {0, 1 << 30, 1 << 30, 1 << 30}, {0, 0, 0, 0})), HasSubstr("impossible size"));
  EXPECT_THAT(of(Tensor(Storage(6, std::string(101, '0')), 0, {2}, {1})), HasSubstr("no storage"));
}

TEST(StateDictTest, WhatIsChosen) {
  const std::string tensor = Tensor(Storage(1), 0, {1}, {1});
  const std::string inner = "}(" + Text("a") + tensor + "u";
  const auto count = [](const std::string& pickle) { return ReadStateDict(pickle)->size(); };
  EXPECT_EQ(count(Dict(Text("state_dict") + inner + Text("epoch") + Int(3))), 1u);
  EXPECT_EQ(count(Dict(Text("model") + inner + Int(7) + "N")), 1u);
  EXPECT_THAT(ErrorOf(Dict(Text("model") + inner + Text("state_dict") + inner)), HasSubstr("several state_dicts"));
  EXPECT_THAT(ErrorOf(Dict(Text("net") + inner)), HasSubstr("its keys are \"net\""));
  EXPECT_THAT(ErrorOf(kProto + "}."), HasSubstr("its keys are none"));
  EXPECT_THAT(ErrorOf(kProto + "]."), HasSubstr("holds a list, no state_dict"));
  EXPECT_THAT(ErrorOf(Dict(Text("a") + tensor + Text("b") + Int(3))), HasSubstr("\"b\" is a int, no tensor"));
  EXPECT_THAT(ErrorOf(Dict(Text("a") + tensor + Int(5) + tensor)), HasSubstr("the key 5 is no tensor's name"));
  EXPECT_THAT(ErrorOf(Dict(Text("a") + tensor + Text("a") + tensor)), HasSubstr("stands twice"));
  EXPECT_THAT(ErrorOf(Dict(Text("\xff") + tensor)), HasSubstr("not UTF-8"));
  EXPECT_THAT(ErrorOf(Dict(Text("__metadata__") + tensor)), HasSubstr("cannot be called"));
}

TEST(UnpicklerTest, EveryCutIsRefused) {
  const std::string whole = Dict(Text("w") + Tensor(Storage(6), 0, {2, 3}, {3, 1}));
  ASSERT_TRUE(ReadStateDict(whole).ok());
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(ReadStateDict(whole.substr(0, n)).ok()) << n;
  EXPECT_THAT(ErrorOf(whole + "x"), HasSubstr("bytes follow the end"));
}

TEST(UnpicklerTest, Numbers) {
  const auto number = [](const std::string& pickled) {
    const auto result = Unpickle(kProto + pickled + ".");
    EXPECT_TRUE(result.ok()) << result.status();
    return result->values[result->root].number;
  };
  EXPECT_EQ(number("K\xff"), 255);
  EXPECT_EQ(number("M\xff\xff"), 65535);
  EXPECT_EQ(number("J\xff\xff\xff\xff"), -1);
  EXPECT_EQ(number("\x8a\x00"s), 0);
  EXPECT_EQ(number("\x8a\x01\xff"), -1);
  EXPECT_EQ(number("\x8a\x02\xff\x00"s), 255);
  EXPECT_EQ(number("\x8a\x05\x00\x00\x00\x00\x01"s), int64_t{1} << 32);
  const auto big = Unpickle(kProto + "\x8a\x09" + std::string(8, '\0') + "\x40.");
  EXPECT_EQ(big->values[big->root].kind, PickledValue::Kind::kBigInt);  // 2^70, a seed perhaps
}

TEST(UnpicklerTest, TheStackIsGuarded) {
  for (const std::string pickle : {"t.", "a.", "]a.", "}(Nu.", "N(.", "(.", "NN.", ".", "q\x01.", "h\x07.", "Q.", "R.",
                                   "b.", "\x87.", "e.", "(NNQ.", "(K\x01s."}) {
    EXPECT_FALSE(Unpickle(kProto + pickle).ok()) << pickle;
  }
  EXPECT_THAT(std::string(Unpickle("\x80\x04.").status().message()), HasSubstr("pickle protocol 4"));
}

TEST(UnpicklerTest, BombsAreRefusedOrHarmless) {
  // Lists of lists of the same lists: 10^30 elements if they were written out.
  std::string laughs = kProto + "]q\x01";
  for (int i = 0; i < 30; ++i)
    laughs += "](" + std::string("h\x01h\x01h\x01h\x01h\x01h\x01h\x01h\x01h\x01h\x01", 20) + "eq\x01";
  EXPECT_THAT(ErrorOf(laughs + "."), HasSubstr("values are left on the stack"));
  // A list that holds itself.
  EXPECT_TRUE(Unpickle(kProto + "]q\x01h\x01" + "a.").ok());
  // A million tuples, one inside of the other.
  std::string deep = kProto + ")";
  deep.append(1'000'000, '\x85');
  EXPECT_TRUE(Unpickle(deep + ".").ok());
  EXPECT_THAT(ErrorOf(kProto + std::string(1'000'001, 'N')), HasSubstr("beyond a million"));
  EXPECT_THAT(ErrorOf(kProto + std::string(1'000'001, '(')), HasSubstr("more than a million marks"));
  EXPECT_THAT(ErrorOf(kProto + ")" + std::string(2'000'001, '\x85')), HasSubstr("more than two million values"));
  EXPECT_THAT(ErrorOf(kProto + "X\xff\xff\xff\xff"), HasSubstr("ends early"));
  EXPECT_THAT(ErrorOf(std::string((size_t{64} << 20) + 1, 'N')), HasSubstr("more than 64 MiB"));
}

}  // namespace
}  // namespace ddp
