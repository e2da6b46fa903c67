// One case for each kind of mistake, with its place and its message.
#include "model_text.h"

#include <gmock/gmock.h>

namespace sheaf::frontend::test {
namespace {

using testing::ElementsAre;

const std::string linear = R"({"type": "Linear", "in_features": 8, "out_features": 8})";

struct Case {
  std::vector<std::string> layers;
  std::string rest;
  std::vector<std::string> expected;
};

void check(const Case& c) { EXPECT_EQ(problems_in(model_with(c.layers, c.rest)), c.expected); }

TEST(Diagnostics, Types) {
  check({{R"({"type": "LogSoftMax", "dim": 1})"}, "", {"5:10: unknown layer type 'LogSoftMax'; did you mean 'LogSoftmax'?"}});
  check({{R"({"type": "Conv4d"})"}, "", {"5:10: unknown layer type 'Conv4d'; did you mean 'Conv1d'?"}});
  check({{R"({"type": "Einsum"})"}, "", {"5:10: unknown layer type 'Einsum'"}});
  check({{R"({"type": "LazyConv2d"})"},
         "",
         {"5:10: LazyConv2d takes a size from its first input; write the layer without Lazy, with 'in_channels'"}});
  check({{R"({"name": "a"})"}, "", {"5:1: layer 'a' needs a 'type' (PyTorch's class name, or a module's)"}});
  check({{"7"}, "", {"5:1: a layer must be an object, found 7"}});
}

TEST(Diagnostics, Arguments) {
  check({{R"({"type": "Linear", "in_feature": 8, "out_features": 8})"},
         "",
         {"5:1: Linear '0' needs the argument 'in_features' (a positive integer)",
          "5:20: Linear '0' has no argument 'in_feature'; did you mean 'in_features'?"}});
  check({{R"({"type": "Linear", "in_features": 8, "out_features": 0})"},
         "",
         {"5:54: 'out_features' of Linear '0' must be a positive integer, found 0"}});
  check({{R"({"type": "GELU", "approximate": "erf"})"},
         "",
         {"5:33: 'approximate' of GELU '0' must be one of 'none', 'tanh', found the string \"erf\""}});
  check({{R"({"type": "LSTM", "input_size": 8, "hidden_size": 4, "proj_size": 2})"},
         "",
         {"5:66: 'proj_size' of LSTM '0' must be 0 (sheaf has nothing else), found 2"}});
  check({{R"({"type": "Conv2d", "in_channels": 4, "out_channels": 6, "kernel_size": [3, 0], "groups": 4})"},
         "",
         {"5:72: 'kernel_size' of Conv2d '0' must be a positive integer or a list of 2 such, found [3, 0]"}});
  check({{R"({"type": "Conv2d", "in_channels": 4, "out_channels": 6, "kernel_size": 3, "groups": 4})"},
         "",
         {"5:85: 'groups' of Conv2d '0' must divide out_channels = 6, found 4"}});
  check({{R"({"type": "Conv2d", "in_channels": 4, "out_channels": 4, "kernel_size": 3, "padding": "same", "stride": 2})"},
         "",
         {"5:86: 'padding' of Conv2d '0' is 'same', which needs stride 1: a strided output is smaller"}});
}

TEST(Diagnostics, Values) {
  check({{R"({"name": "a", "type": "ReLU"})", R"({"type": "ReLU", "inputs": ["aa"]})"},
         "",
         {"6:29: there is no value 'aa'; expected one of 'x', 'a'"}});
  check({{R"({"name": "a", "type": "ReLU"})", R"({"type": "ReLU", "inputs": ["a:1"]})"},
         "",
         {"6:29: there is no value 'a:1': layer 'a' has one output, 'a'"}});
  check({{R"({"name": "rnn", "type": "LSTM", "input_size": 8, "hidden_size": 8})", R"({"type": "ReLU", "inputs": ["rnn:3"]})"},
         "",
         {"6:29: there is no value 'rnn:3': layer 'rnn' has 3 outputs, 'rnn' to 'rnn:2'"}});
  check({{R"({"name": "s", "type": "Split", "split_size_or_sections": 1, "dim": 1})",
          R"({"type": "ReLU", "inputs": ["s:4096"]})"},
         "",
         {"6:29: there is no value 's:4096': layer 's' has at most 4096 outputs, 's' to 's:4095'"}});
  check({{R"({"type": "ReLU", "inputs": ["b"]})", R"({"name": "b", "type": "ReLU"})"},
         "",
         {"5:29: the value 'b' is used before the layer that makes it"}});
  check({{linear}, R"("outputs": ["1"])", {"7:13: there is no value '1'; expected one of 'x', '0'"}});
  check({{R"({"type": "Add"})"}, "", {"5:1: 'other' of Add '0' is needed with one input"}});
  check({{R"({"type": "LSTM", "input_size": 8, "hidden_size": 8, "inputs": ["x", "x"]})"},
         "",
         {"5:1: LSTM '0' takes 1 or 3 inputs, but has 2"}});
}

TEST(Diagnostics, Names) {
  check({{R"({"name": "a", "type": "ReLU"})", R"({"name": "a", "type": "ReLU"})"},
         "",
         {"6:10: the layer name 'a' appears twice"}});
  check({{R"({"name": "1", "type": "ReLU"})", R"({"type": "ReLU"})"},
         "",
         {"6:1: the layer name '1' appears twice (a layer without a name is named by its position)"}});
  for (const char* name : {".b", "a.", "a..b"}) {
    check({{R"({"name": ")" + std::string(name) + R"(", "type": "ReLU"})"},
           "",
           {"5:10: the layer name '" + std::string(name) + "' has nothing on one side of a '.', which joins names to paths"}});
  }
  check({{R"({"name": "a", "type": "Sequential", "layers": [{"name": "b.c", "type": "ReLU"}]})",
          R"({"name": "a.b", "type": "Sequential", "layers": [{"name": "c", "type": "ReLU"}]})"},
         "",
         {"6:50: two layers have the full name 'a.b.c'"}});
  check({{R"({"name": "a", "type": "MultiheadAttention", "inputs": ["x", "x", "x"], "embed_dim": 8, "num_heads": 1})",
          R"({"name": "a.out_proj", "type": "Linear", "in_features": 8, "out_features": 8})"},
         "",
         {"6:1: two parameters have the full name 'a.out_proj.bias'",
          "6:1: two parameters have the full name 'a.out_proj.weight'"}});
  check({{R"({"name": "a:1", "type": "ReLU"})"},
         "",
         {"5:10: the layer name 'a:1' contains ':', which numbers a layer's outputs"}});
}

TEST(Diagnostics, Modules) {
  std::string module =
      R"("modules": {"M": {"params": {"w": null}, "layers": [{"type": "Linear", "in_features": "$w", "out_features": "$v"}]}})";
  check({{R"({"type": "M", "w": 8})"}, module, {"7:109: module 'M' has no parameter 'v'; did you mean '$w'?"}});
  module = R"("modules": {"M": {"params": {"w": null}, "layers": [{"type": "Dropout", "p": "$w"}]}})";
  check({{R"({"type": "M", "w": 8})"}, module, {"5:20: 'p' of Dropout '0' must be a number from 0 to 1, found 8"}});
  check({{R"({"type": "M"})"}, module, {"5:1: M '0' needs the parameter 'w'"}});
  check({{R"({"type": "M", "w": 0, "p": 1})"}, module, {"5:23: module 'M' has no parameter 'p'; expected 'w'"}});
  check({{R"({"type": "A"})"},
         R"("modules": {"A": {"layers": [{"type": "B"}]}, "B": {"layers": [{"type": "A"}]}})",
         {"7:73: module 'A' contains itself: a graph of layers cannot recurse"}});
  check({{linear},
         R"("modules": {"M": {"layers": [{"type": "Relu"}]}})",
         {"7:39: unknown layer type 'Relu'; did you mean 'ReLU'?"}});
  check({{R"({"name": "a", "type": "ReLU"})", R"({"type": "M"})"},
         R"("modules": {"M": {"layers": [{"type": "ReLU", "inputs": ["a"]}]}})",
         {"8:58: there is no value 'a'; expected 'input'"}});
}

TEST(Diagnostics, DataParallel) {
  check(
      {{R"({"name": "p", "type": "DataParallel", "module": {"type": "Sequential", "layers": [{"type": "DataParallel", "module": {"type": "ReLU"}}]}})"},
       "",
       {"5:83: a DataParallel is inside DataParallel 'p': a replica has one device, so there is nothing "
        "to split over"}});
  check({{R"({"name": "p", "type": "DataParallel", "device_ids": [1, 0], "module": {"type": "Identity", "device": "cuda:0"}})"},
         "",
         {"5:102: layer 'module' is placed on 'cuda:0', but DataParallel 'p' around it keeps its parameters on "
          "'cuda:1', the first of its devices"}});
  check({{R"({"type": "ReLU", "device": "gpu:0"})"},
         "",
         {"5:28: unknown device 'gpu:0'; expected 'cpu' (the host) or 'cuda:k' (the k-th device of the run)"}});
}

TEST(Diagnostics, Share) {
  check({{linear, R"({"type": "Linear", "in_features": 8, "out_features": 4, "share": {"weight": "0.weight"}})"},
         "",
         {"6:77: '1.weight' [4, 8] cannot share '0.weight' [8, 8]: the shapes differ"}});
  check({{linear, R"({"type": "Linear", "in_features": 8, "out_features": 8, "share": {"weight": "0.weights"}})"},
         "",
         {"6:77: the model has no parameter '0.weights'; did you mean '0.weight'?"}});
}

TEST(Diagnostics, Training) {
  std::string head = R"("training": {"targets": {"y": {"shape": ["batch"]}}, )";
  check(
      {{linear},
       head + R"("loss": {"type": "MSELoss", "inputs": ["0", "z"]}, "optimizer": {"type": "SGD"}})",
       {"7:98: the loss takes outputs of the model, targets and inputs; 'z' is none of them; expected one of '0', 'y', 'x'"}});
  check({{linear},
         head + R"("loss": {"type": "GaussianNLLLoss"}, "optimizer": {"type": "SGD"}})",
         {"7:62: the loss needs 'inputs': which outputs and targets are its input, target and var"}});
  check({{linear},
         head + R"("loss": {"type": "NLLLoss2d"}, "optimizer": {"type": "SGD"}})",
         {"7:71: NLLLoss2d is PyTorch's old name of NLLLoss, which takes images too; write NLLLoss"}});
  check({{linear},
         head + R"("loss": {"type": "TripletMarginLoss", "inputs": ["0", "y"]}, "optimizer": {"type": "SGD"}})",
         {"7:102: 'inputs' of the loss must be a list of 3 names: anchor, positive and negative, found [\"0\", \"y\"]"}});
  check({{linear},
         R"("training": {"loss": {"type": "MSELoss"}, "optimizer": {"type": "SGD"}})",
         {"7:13: 'training' needs 'targets'"}});
  check({{linear},
         head + R"("loss": {"type": "MSELoss"}, "optimizer": {"type": "SGD", "momentun": 0.9}})",
         {"7:112: optimizer SGD has no argument 'momentun'; did you mean 'momentum'?"}});
  check({{linear},
         head + R"("loss": {"type": "MSEloss"}, "optimizer": {"type": "SGD"}})",
         {"7:71: unknown loss 'MSEloss'; did you mean 'MSELoss'?"}});
}

TEST(Diagnostics, Document) {
  EXPECT_THAT(problems_in(R"({"sheaf": "2.0", "inputs": {"x": {"shape": [1]}}, "layers": [{"type": "ReLU"}]})"),
              ElementsAre("1:11: format version 2.0 is not known: this program reads versions 1.x"));
  check({{linear}, R"("output": ["0"])", {"7:1: the model has no field 'output'; did you mean 'outputs'?"}});
  EXPECT_THAT(
      problems_in(
          R"({"sheaf": "1.0", "inputs": {"x": {"shape": ["batch", "batch"], "dtype": "int46"}}, "layers": [{"type": "ReLU"}]})"),
      ElementsAre("1:54: \"batch\" appears twice in the shape of input 'x'",
                  "1:73: unknown dtype 'int46'; did you mean 'int64'?"));
}

TEST(Diagnostics, EveryProblemIsReported) {
  check({{R"({"type": "Linear", "in_features": -1, "out_features": 1.5, "bias": 0})", R"({"type": "Relu"})",
          R"({"type": "Dropout", "p": 2, "inputs": ["q"]})"},
         R"("init": [{"types": ["Lineer"]}])",
         {"5:35: 'in_features' of Linear '0' must be a positive integer, found -1",
          "5:55: 'out_features' of Linear '0' must be a positive integer, found 1.5",
          "5:68: 'bias' of Linear '0' must be true or false, found 0", "6:10: unknown layer type 'Relu'; did you mean 'ReLU'?",
          "7:26: 'p' of Dropout '2' must be a number from 0 to 1, found 2",
          "7:40: there is no value 'q'; expected one of 'x', '0', '1'",
          "9:10: an init rule needs a distribution, such as \"weight\": {…}",
          "9:21: unknown layer type 'Lineer'; did you mean 'Linear'?"}});
}

}  // namespace
}  // namespace sheaf::frontend::test
