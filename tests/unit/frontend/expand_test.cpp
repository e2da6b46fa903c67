// What an accepted file becomes: canonical arguments, PyTorch's paths, resolved values, devices, ties.
#include "frontend/share.h"
#include "model_text.h"

#include <gmock/gmock.h>

namespace sheaf::frontend::test {
namespace {

using testing::ElementsAre;

Json arguments_of(const std::string& layer) {
  Model model = accepted(model_with({layer}));
  return model.graph.layers.empty() ? Json() : model.graph.layers[0].arguments;
}

TEST(Arguments, DefaultsArePyTorchs) {
  EXPECT_EQ(arguments_of(R"({"type": "Conv2d", "in_channels": 4, "out_channels": 4, "kernel_size": 3})").dump(),
            R"({"in_channels":4,"out_channels":4,"kernel_size":[3,3],"stride":[1,1],"padding":[0,0],"dilation":[1,1],)"
            R"("groups":1,"bias":true,"padding_mode":"zeros"})");
  EXPECT_EQ(
      arguments_of(R"({"type": "MaxPool2d", "kernel_size": [3, 2]})").dump(),
      R"({"kernel_size":[3,2],"stride":[3,2],"padding":[0,0],"dilation":[1,1],"return_indices":false,"ceil_mode":false})");
  EXPECT_EQ(arguments_of(R"({"type": "Flatten"})").dump(), R"({"start_dim":1,"end_dim":-1})");
  EXPECT_EQ(arguments_of(R"({"type": "ReLU", "inplace": true})").dump(), "{}");
  EXPECT_EQ(arguments_of(R"({"type": "BatchNorm1d", "num_features": 8})").dump(),
            R"({"num_features":8,"eps":1e-05,"momentum":0.1,"affine":true,"track_running_stats":true})");
}

TEST(Arguments, AreBroughtIntoOneForm) {
  EXPECT_EQ(arguments_of(
                R"({"type": "Conv1d", "in_channels": 4, "out_channels": 4, "kernel_size": 3, "padding": "same"})")["padding"],
            "same");
  EXPECT_EQ(arguments_of(R"({"type": "AdaptiveAvgPool2d", "output_size": [null, 3]})")["output_size"].dump(), "[null,3]");
  EXPECT_EQ(arguments_of(R"({"type": "AdaptiveAvgPool2d", "output_size": null})")["output_size"].dump(), "[null,null]");
  EXPECT_EQ(
      arguments_of(R"({"type": "Embedding", "num_embeddings": 10, "embedding_dim": 2, "padding_idx": -1})")["padding_idx"], 9);
  EXPECT_EQ(arguments_of(R"({"type": "LayerNorm", "normalized_shape": 8})")["normalized_shape"].dump(), "[8]");
  EXPECT_EQ(arguments_of(R"({"type": "Permute", "dims": [-1, 0]})")["dims"].dump(), "[1,0]");
  EXPECT_EQ(arguments_of(R"({"type": "Mean", "dim": -1})")["dim"].dump(), "[-1]");
  EXPECT_EQ(arguments_of(
                R"({"type": "DataParallel", "module": {"type": "ReLU"}, "device_ids": ["cuda:1", 0], "output_device": "cpu"})")
                .dump(),
            R"({"device_ids":[1,0],"output_device":-1,"dim":0})");
}

TEST(Arguments, HaveLocations) {
  Model model = accepted(model_with({R"({"type": "Softmax", "dim": 1})"}));
  const Location& at = model.graph.layers.at(0).argument_locations.at("dim");
  EXPECT_EQ(std::pair(at.line, at.column), std::pair(5, 28));
  EXPECT_EQ(at.file, "m.json");
}

TEST(Paths, ArePyTorchs) {
  Model model = accepted(model_with(
      {R"({"name": "net", "type": "DataParallel", "module": {"type": "Net", "name": "not part of it"}})",
       R"({"name": "plain", "type": "DataParallel", "module": {"type": "Linear", "in_features": 8, "out_features": 2}})"},
      R"("modules": {"Net": {"layers": [{"name": "block", "type": "Sequential", "layers": [{"type": "Block"}]}]},)"
      R"("Block": {"layers": [{"name": "fc", "type": "Linear", "in_features": 8, "out_features": 8}]}})"));
  EXPECT_THAT(
      parameters_of(model.graph),
      testing::UnorderedElementsAre(testing::Key("net.module.block.0.fc.weight"), testing::Key("net.module.block.0.fc.bias"),
                                    testing::Key("plain.module.weight"), testing::Key("plain.module.bias")));
  const Layer* net = find_layer(model.graph, "net");
  ASSERT_TRUE(net && net->body);
  ASSERT_EQ(net->body->layers.size(), 1u);
  EXPECT_EQ(net->body->layers[0].name, "module");
  EXPECT_EQ(net->body->layers[0].type, "Net");
  EXPECT_EQ(net->body->layers[0].path, "net.module");
}

TEST(Values, AreResolvedInTheirScope) {
  Model model = accepted(model_with(
      {R"({"name": "m", "type": "M", "inputs": ["x", "x"]})", R"({"name": "sum", "type": "Add", "inputs": ["m:1", "m"]})"},
      R"("outputs": ["sum", "m:1", "x"], "modules": {"M": {"inputs": ["a", "b"], "outputs": ["m", "b"],)"
      R"("layers": [{"name": "m", "type": "Mul"}, {"name": "unused", "type": "ReLU"}]}})"));
  const Graph& body = *model.graph.layers.at(0).body;
  EXPECT_THAT(body.layers.at(0).inputs, ElementsAre(ValueRef{-1, 0}, ValueRef{-1, 1}));
  EXPECT_THAT(body.layers.at(1).inputs, ElementsAre(ValueRef{0, 0}));
  EXPECT_THAT(body.outputs, ElementsAre(ValueRef{0, 0}, ValueRef{-1, 1}));
  EXPECT_EQ(output_count(model.graph.layers[0]), 2);
  EXPECT_THAT(model.graph.layers.at(1).inputs, ElementsAre(ValueRef{0, 1}, ValueRef{0, 0}));
  EXPECT_THAT(model.graph.outputs, ElementsAre(ValueRef{1, 0}, ValueRef{0, 1}, ValueRef{-1, 0}));
  EXPECT_THAT(model.graph.output_names, ElementsAre("sum", "m:1", "x"));
}

TEST(Values, ADataParallelYieldsAllOutputsOfWhatItWraps) {
  Model model = accepted(
      model_with({R"({"type": "DataParallel", "dim": 1, "module": {"type": "LSTM", "input_size": 8, "hidden_size": 4}})"},
                 R"("outputs": ["0:2"])"));
  EXPECT_EQ(output_count(model.graph.layers.at(0)), 3);
  EXPECT_THAT(model.graph.layers[0].body->outputs, ElementsAre(ValueRef{0, 0}, ValueRef{0, 1}, ValueRef{0, 2}));
}

TEST(Devices, AContainersDeviceIsItsLayersDefault) {
  Model model = accepted(model_with(
      {R"({"type": "Sequential", "device": "cuda:1", "layers": [{"type": "ReLU"}, {"type": "ReLU", "device": "cpu"}, {"type": "DataParallel", "module": {"type": "ReLU"}}]})"}));
  const Graph& body = *model.graph.layers.at(0).body;
  ASSERT_TRUE(body.layers.at(0).device && body.layers.at(1).device);
  EXPECT_EQ(body.layers[0].device->index, 1);
  EXPECT_TRUE(body.layers[1].device->host);
  EXPECT_EQ(body.layers[1].device->location.column, 100);
  // A region is where its devices are.
  EXPECT_FALSE(body.layers.at(2).device);
  EXPECT_FALSE(body.layers[2].body->layers.at(0).device);
}

TEST(Modules, ParametersMayBeAnyValueAnywhere) {
  Model model = accepted(model_with(
      {R"({"name": "m", "type": "Outer", "act": "Tanh", "size": 4})"},
      R"("modules": {"Outer": {"params": {"act": "ReLU", "size": null}, "layers": [)"
      R"({"type": "$act"}, {"type": "Inner", "shape": ["$size", -1]}]},)"
      R"("Inner": {"params": {"shape": null, "called": "r"}, "layers": [{"name": "$called", "type": "Reshape", "shape": "$shape"}]}})"));
  const Layer* act = find_layer(model.graph, "m.0");
  const Layer* reshape = find_layer(model.graph, "m.1.r");
  ASSERT_TRUE(act && reshape);
  EXPECT_EQ(act->type, "Tanh");
  EXPECT_EQ(reshape->arguments["shape"].dump(), "[4,-1]");
}

TEST(Share, IsTiedToTheEndOfTheChainUnderItsFullName) {
  std::string linear = R"("type": "Linear", "in_features": 8, "out_features": 8)";
  Model model = accepted(model_with({R"({"name": "a", "type": "DataParallel", "module": {)" + linear + "}}",
                                     R"({"name": "b", )" + linear + R"(, "share": {"weight": "a.weight"}})",
                                     R"({"name": "c", )" + linear + R"(, "share": {"weight": "b.weight"}})"}));
  EXPECT_EQ(model.graph.layers.at(1).share.at("weight"), "a.module.weight");
  EXPECT_EQ(model.graph.layers.at(2).share.at("weight"), "a.module.weight");
}

TEST(Training, LossScale) {
  const auto scale = [](const std::string& field) {
    return accepted(model_with({R"({"type": "ReLU"})"},
                               R"("training": {"targets": {"y": {"shape": ["batch", 8]}}, "loss": {"type": "MSELoss"},)"
                               R"("optimizer": {"type": "SGD"})" +
                                   field + "}"))
        .training->loss_scale.dump();
  };
  EXPECT_EQ(scale(""), "null");
  EXPECT_EQ(scale(R"(, "loss_scale": 128)"), "128.0");
  EXPECT_EQ(scale(R"(, "loss_scale": {"init_scale": 8})"),
            R"({"init_scale":8.0,"growth_factor":2.0,"backoff_factor":0.5,"growth_interval":2000})");
}

TEST(Training, DefaultsAreFilledIn) {
  Model model = accepted(model_with(
      {R"({"type": "ReLU"})"},
      R"("training": {"targets": {"y": {"shape": ["batch", 8]}}, "loss": {"type": "BCEWithLogitsLoss"},)"
      R"("optimizer": {"type": "Adam", "lr": 1}, "schedule": {"type": "StepLR", "step_size": 3}, "clip_grad_norm": 2, "metrics": ["accuracy"]})"));
  ASSERT_TRUE(model.training);
  EXPECT_THAT(model.training->loss_inputs, ElementsAre("0", "y"));
  EXPECT_EQ(model.training->loss_type, "BCEWithLogitsLoss");
  EXPECT_EQ(model.training->loss_arguments.dump(), R"({"weight":null,"reduction":"mean","pos_weight":null})");
  EXPECT_EQ(model.training->optimizer["lr"], 1.0);
  EXPECT_EQ(model.training->optimizer["betas"].dump(), "[0.9,0.999]");
  EXPECT_EQ(model.training->schedule["gamma"], 0.1);
  EXPECT_EQ(model.training->clip_grad_norm, 2.0);
  EXPECT_THAT(model.training->targets.at(0).shape, ElementsAre(Extent::symbol("batch"), Extent(8)));
}

TEST(Init, DistributionsAreComplete) {
  Model model = accepted(model_with({R"({"type": "Linear", "in_features": 8, "out_features": 8})"},
                                    R"("init": [{"types": ["Linear"], "weight": {"type": "normal", "std": 0.01}}])"));
  EXPECT_EQ(model.init.at(0).distributions.at("weight").dump(), R"({"type":"normal","mean":0.0,"std":0.01})");
}

}  // namespace
}  // namespace sheaf::frontend::test
