// Whatever the bytes: an answer, never a crash or a hang. (The sanitizer builds run this too.)
#include "model_text.h"

#include <gtest/gtest.h>

#include <random>

namespace sheaf::frontend::test {
namespace {

const std::vector<std::string>& model_files() {
  static const std::vector<std::string> files = {"distributed_model",  "data_parallel_model", "tutorial",
                                                 "resnet18_w8",        "word_language_model", "transformer_encoder",
                                                 "dcgan_discriminator"};
  return files;
}

void must_answer(const std::string& text) {
  auto model = parse_model("m.json", text);
  if (!model) EXPECT_FALSE(to_string(model.error()).empty());
}

TEST(Robustness, TruncatedModelsAreRefused) {
  for (const std::string& file : model_files()) {
    std::string text = read_project_file("models/" + file + ".json");
    size_t closing = text.rfind('}');
    for (size_t length = 0; length <= closing; length += 1 + text.size() / 300) {
      EXPECT_FALSE(parse_model("m.json", text.substr(0, length))) << file << " cut at " << length;
    }
  }
}

TEST(Robustness, MutatedBytesAreAnswered) {
  std::mt19937 random(7);
  const std::string pieces = "{}[]\",:$-0123456789.etrufalsn\\\xff\x80 \n";
  for (const std::string& file : model_files()) {
    const std::string text = read_project_file("models/" + file + ".json");
    for (int round = 0; round < 200; ++round) {
      std::string changed = text;
      for (int i = 0; i <= round % 4; ++i) {
        size_t at = random() % changed.size();
        switch (random() % 3) {
          case 0: changed[at] = pieces[random() % pieces.size()]; break;
          case 1: changed.erase(at, 1 + random() % 20); break;
          default: changed.insert(at, 1, pieces[random() % pieces.size()]);
        }
      }
      must_answer(changed);
    }
  }
}

TEST(Robustness, SwappedTokensAreAnswered) {
  // Any value in any place: types that no check expects there.
  const std::vector<std::string> values = {
      "null", "true", "-1", "1.5", "\"$in\"", "\"x\"", "[]", "{}", "[[1]]", "99999999999", "{\"type\": \"ReLU\"}"};
  std::string text = read_project_file("models/resnet18_w8.json");
  for (size_t at = text.find(": "), count = 0; at != std::string::npos; at = text.find(": ", at + 2), ++count) {
    size_t end = text.find_first_of(",}\n", at);
    if (end == std::string::npos) break;
    must_answer(text.substr(0, at + 2) + values[count % values.size()] + text.substr(end));
  }
}

TEST(Robustness, ASmallFileCannotExpandWithoutBound) {
  // 2^40 layers in forty lines.
  std::string modules;
  for (int i = 0; i < 40; ++i) {
    std::string inner = i == 0 ? "ReLU" : "M" + std::to_string(i - 1);
    modules += (i ? ", " : "") + ("\"M" + std::to_string(i)) + R"(": {"layers": [{"type": ")" + inner + R"("}, {"type": ")" +
               inner + R"("}]})";
  }
  auto problems = problems_in(model_with({R"({"type": "M39"})"}, "\"modules\": {" + modules + "}"));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("expand to more than 100000 layers"), std::string::npos) << problems[0];
}

TEST(Robustness, ModulesThatNestDeepAreRefused) {
  std::string modules;
  for (int i = 0; i < 5000; ++i) {
    std::string inner = i == 0 ? "ReLU" : "M" + std::to_string(i - 1);
    modules += (i ? ", " : "") + ("\"M" + std::to_string(i)) + R"(": {"layers": [{"type": ")" + inner + R"("}]})";
  }
  auto problems = problems_in(model_with({R"({"type": "M4999"})"}, "\"modules\": {" + modules + "}"));
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].find("nested more than 200 deep"), std::string::npos) << problems[0];
}

TEST(Robustness, HostileNumbersAndNamesAreRefused) {
  for (const char* number :
       {"1e308", "-0", "1e-320", "9223372036854775807", "18446744073709551615", "123456789012345678901234567890"}) {
    must_answer(model_with({R"({"type": "Linear", "in_features": )" + std::string(number) + R"(, "out_features": 8})"}));
    must_answer(model_with({R"({"type": "Select", "dim": )" + std::string(number) + R"(, "index": )" + number + "}"}));
    must_answer(
        model_with({R"({"type": "LSTM", "input_size": 8, "hidden_size": 8, "num_layers": )" + std::string(number) + "}"}));
    must_answer(model_with(
        {R"({"type": "DataParallel", "device_ids": [)" + std::string(number) + R"(], "module": {"type": "ReLU"}})"}));
  }
  std::string name(1'000'000, 'w');
  must_answer(model_with({R"({"type": ")" + name + "\"}"}));
  must_answer(model_with({R"({"type": "Linear", "in_features": 8, "out_features": 8, ")" + name + "\": 1}"}));
  must_answer(model_with({R"({"type": "ReLU"})"}, R"("init": [{"types": ["LSTM"], ")" + name + R"(": {"type": "ones"}}])"));
  must_answer(model_with({R"({"type": "LSTM", "input_size": 8, "hidden_size": 8, "share": {"bias_hh_l)" +
                          std::string(1'000'000, '1') + R"(": "0.x"}})"}));
  must_answer(model_with({R"({"type": "Print", "text": "{)" + std::string(1'000'000, '1') + R"(}"})"}));
  must_answer(model_with({R"({"type": "ReLU", "inputs": ["x:)" + std::string(1'000'000, '1') + R"("]})"}));
}

}  // namespace
}  // namespace sheaf::frontend::test
