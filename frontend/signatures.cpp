#include "frontend/signatures.h"

#include "frontend/refused_types.h"
#include "runtime/base/suggest.h"
#include "runtime/plan/metric.h"

#include <algorithm>
#include <limits>

namespace sheaf::frontend {
namespace {

using Kind = ArgumentType::Kind;

Argument numbers(std::string name, size_t count, double maximum, Json fallback) {
  Argument argument = typed(std::move(name), Kind::numbers, std::move(fallback));
  argument.type.count = count;
  argument.type.minimum = 0;
  argument.type.maximum = maximum;
  argument.type.maximum_excluded = true;
  return argument;
}

/// A one-dimensional tensor in PyTorch.
Argument weights(std::string name) { return nullable(typed(std::move(name), Kind::numbers, Json(nullptr))); }

Argument reduction() { return choice("reduction", {"mean", "sum"}, "mean"); }

/// MultiMarginLoss's.
Argument exponent() {
  Argument p = integer("p", 1, Json(1));
  p.type.maximum = 2;
  return p;
}

// How PyTorch runs its update; no effect on the result.
void add_implementation_flags(std::vector<Argument>& arguments) {
  for (const char* name : {"foreach", "fused"}) arguments.push_back(ignored(name, nullptr));
  for (const char* name : {"capturable", "differentiable"}) arguments.push_back(fixed(name, false));
}

Signature optimizer(std::string name, std::vector<Argument> arguments) {
  arguments.push_back(boolean("maximize", false));
  add_implementation_flags(arguments);
  return {std::move(name), std::move(arguments)};
}

Signature adam(std::string name, double weight_decay) {
  return optimizer(std::move(name), {not_negative("lr", Json(1e-3)), numbers("betas", 2, 1, Json::array({0.9, 0.999})),
                                     not_negative("eps", Json(1e-8)), not_negative("weight_decay", Json(weight_decay)),
                                     boolean("amsgrad", false)});
}

/// `interval` is sheaf's own: what advances the schedule; in PyTorch, the training script decides when to call step().
Signature schedule(std::string name, std::vector<Argument> arguments) {
  arguments.push_back(choice("interval", {"epoch", "step"}, "epoch"));
  arguments.push_back(fixed("last_epoch", -1));
  return {std::move(name), std::move(arguments)};
}

Signature one_cycle() {
  Argument share = probability("pct_start", Json(0.3));
  share.type.minimum_excluded = true;
  return {"OneCycleLR",
          {above_zero("max_lr"), positive("total_steps"), share, choice("anneal_strategy", {"cos", "linear"}, "cos"),
           mended(typed("cycle_momentum", Kind::boolean), "PyTorch's default is true, which sheaf hasn't: say false"),
           above_zero("div_factor", Json(25.0)), above_zero("final_div_factor", Json(1e4)), boolean("three_phase", false),
           choice("interval", {"step"}, "step"), fixed("last_epoch", -1)}};
}

/// `monitor` is sheaf's own: the value the training script passes to step(). The schedule advances only by epochs.
Signature plateau() {
  std::vector<std::string> monitors = {"train_loss", "eval_loss"};
  for (const MetricRow& row : metric_rows()) monitors.push_back("eval_" + row.name);
  Argument factor = probability("factor", Json(0.1));
  factor.type.maximum_excluded = true;
  return {
      "ReduceLROnPlateau",
      {choice("mode", {"min", "max"}, "min"), factor, integer("patience", 0, Json(10)), not_negative("threshold", Json(1e-4)),
       choice("threshold_mode", {"rel", "abs"}, "rel"), integer("cooldown", 0, Json(0)), not_negative("min_lr", Json(0.0)),
       not_negative("eps", Json(1e-8)), choice("monitor", monitors, "train_loss")}};
}

}  // namespace

const std::vector<Signature>& distributions() {
  static const std::vector<Signature> table = [] {
    std::vector<std::string> gains = {"linear",           "conv1d",  "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
                                      "conv_transpose3d", "sigmoid", "tanh",   "relu",   "leaky_relu",       "selu"};
    std::vector<Argument> kaiming = {number("a", Json(0.0)), choice("mode", {"fan_in", "fan_out"}, "fan_in"),
                                     choice("nonlinearity", gains, "leaky_relu")};
    return std::vector<Signature>{
        {"normal", {number("mean", Json(0.0)), not_negative("std", Json(1.0))}},
        {"uniform", {number("a", Json(0.0)), number("b", Json(1.0))}},
        {"constant", {number("val")}},
        {"ones", {}},
        {"zeros", {}},
        {"xavier_uniform", {number("gain", Json(1.0))}},
        {"xavier_normal", {number("gain", Json(1.0))}},
        {"kaiming_uniform", kaiming},
        {"kaiming_normal", kaiming},
    };
  }();
  return table;
}

const std::vector<Signature>& losses() {
  static const std::vector<LossInput> usual = {{"input"}, {"target", true}}, two = {{"input1"}, {"input2"}, {"target", true}};
  static const std::vector<Signature> table = {
      {"CrossEntropyLoss",
       {weights("weight"), typed("ignore_index", Kind::integer, Json(-100)), reduction(),
        probability("label_smoothing", Json(0.0))},
       usual},
      {"NLLLoss", {weights("weight"), typed("ignore_index", Kind::integer, Json(-100)), reduction()}, usual},
      {"MSELoss", {reduction()}, usual},
      {"L1Loss", {reduction()}, usual},
      {"SmoothL1Loss", {reduction(), not_negative("beta", Json(1.0))}, usual},
      {"HuberLoss", {reduction(), above_zero("delta", Json(1.0))}, usual},
      {"BCELoss", {weights("weight"), reduction()}, usual},
      {"BCEWithLogitsLoss", {weights("weight"), reduction(), weights("pos_weight")}, usual},
      {"KLDivLoss", {choice("reduction", {"mean", "sum", "batchmean"}, "mean"), boolean("log_target", false)}, usual},
      {"PoissonNLLLoss",
       {boolean("log_input", true), boolean("full", false), not_negative("eps", Json(1e-8)), reduction()},
       usual},
      {"GaussianNLLLoss",
       {boolean("full", false), above_zero("eps", Json(1e-6)), reduction()},
       {{"input"}, {"target", true}, {"var"}}},
      {"SoftMarginLoss", {reduction()}, usual},
      {"HingeEmbeddingLoss", {number("margin", Json(1.0)), reduction()}, usual},
      {"MarginRankingLoss", {number("margin", Json(0.0)), reduction()}, two},
      {"CosineEmbeddingLoss", {number("margin", Json(0.0)), reduction()}, two},
      {"MultiMarginLoss", {exponent(), number("margin", Json(1.0)), weights("weight"), reduction()}, usual},
      {"MultiLabelMarginLoss", {reduction()}, usual},
      {"MultiLabelSoftMarginLoss", {weights("weight"), reduction()}, usual},
      {"CTCLoss",
       {integer("blank", 0, Json(0)), reduction(), boolean("zero_infinity", false)},
       {{"log_probs"}, {"targets", true}, {"input_lengths", true}, {"target_lengths", true}}},
      {"TripletMarginLoss",
       {above_zero("margin", Json(1.0)), above_zero("p", Json(2.0)), number("eps", Json(1e-6)), boolean("swap", false),
        reduction()},
       {{"anchor"}, {"positive"}, {"negative"}}},
  };
  return table;
}

const std::vector<Argument>& loss_scale_arguments() {
  static const std::vector<Argument> arguments = [] {
    Argument init = above_zero("init_scale", Json(65536.0)), growth = above_zero("growth_factor", Json(2.0)),
             backoff = above_zero("backoff_factor", Json(0.5));
    init.type.maximum = std::numeric_limits<float>::max();
    growth.type.minimum = 1;
    backoff.type.maximum = 1;
    growth.type.minimum_excluded = backoff.type.maximum_excluded = true;
    Argument interval = positive("growth_interval", Json(2000));
    interval.type.maximum = 1 << 24;  // it is counted in float32
    return std::vector<Argument>{init, growth, backoff, interval};
  }();
  return arguments;
}

const std::vector<Signature>& optimizers() {
  static const std::vector<Signature> table = [] {
    std::vector<Argument> sgd = {not_negative("lr", Json(1e-3)), not_negative("momentum", Json(0.0)),
                                 number("dampening", Json(0.0)), not_negative("weight_decay", Json(0.0)),
                                 boolean("nesterov", false),     boolean("maximize", false),
                                 ignored("foreach", nullptr),    ignored("fused", nullptr),
                                 fixed("differentiable", false)};
    return std::vector<Signature>{
        {"SGD", sgd},
        adam("Adam", 0.0),
        adam("AdamW", 1e-2),
        optimizer("RMSprop",
                  {not_negative("lr", Json(1e-2)), not_negative("alpha", Json(0.99)), not_negative("eps", Json(1e-8)),
                   not_negative("weight_decay", Json(0.0)), not_negative("momentum", Json(0.0)), boolean("centered", false)}),
    };
  }();
  return table;
}

const std::vector<Signature>& schedules() {
  static const std::vector<Signature> table = [] {
    Argument milestones = typed("milestones", Kind::integers);
    milestones.type.minimum = 0;
    Argument start = above_zero("start_factor", Json(1.0 / 3));
    start.type.maximum = 1;
    return std::vector<Signature>{
        schedule("StepLR", {positive("step_size"), number("gamma", Json(0.1))}),
        schedule("MultiStepLR", {milestones, number("gamma", Json(0.1))}),
        schedule("CosineAnnealingLR", {positive("T_max"), not_negative("eta_min", Json(0.0))}),
        schedule("ExponentialLR", {number("gamma")}),
        schedule("ConstantLR", {probability("factor", Json(1.0 / 3)), positive("total_iters", Json(5))}),
        schedule("LinearLR", {start, probability("end_factor", Json(1.0)), positive("total_iters", Json(5))}),
        schedule("PolynomialLR", {positive("total_iters", Json(5)), number("power", Json(1.0))}),
        schedule("CosineAnnealingWarmRestarts",
                 {positive("T_0"), positive("T_mult", Json(1)), not_negative("eta_min", Json(0.0))}),
        one_cycle(),
        schedule("SequentialLR", {milestones}),
        plateau(),
    };
  }();
  return table;
}

const std::vector<std::string>& metrics() {
  static const auto names = [] {
    std::vector<std::string> names;
    for (const MetricRow& row : metric_rows()) names.push_back(row.name);
    return names;
  }();
  return names;
}

std::optional<Json> check_signature(const std::vector<Signature>& table, const std::string& what, const LocatedNode& node,
                                    std::vector<std::string> reserved, Problems& problems) {
  JsonValue value{&node, nullptr, {}, {}};
  if (node.kind != LocatedNode::Kind::object) {
    refuse(value, "'" + what + "'", "an object with a 'type'", problems);
    return std::nullopt;
  }
  const LocatedMember* type = node.find("type");
  if (!type || type->value.kind != LocatedNode::Kind::string) {
    if (!type) problems.add(node.place, what + " needs a 'type'");
    if (type) refuse({&type->value, nullptr, {}, {}}, "'type' of " + what, "a string", problems);
    return std::nullopt;
  }
  const std::string& name = type->value.string;
  auto row = std::ranges::find(table, name, &Signature::name);
  if (row == table.end()) {
    std::vector<std::string> names;
    for (const Signature& signature : table) names.push_back(signature.name);
    if (auto why = why_refused(name)) problems.add(type->value.place, name + " " + *why);
    else problems.add(type->value.place, "unknown " + what + " '" + name + "'" + suggestion(name, names));
    return std::nullopt;
  }
  reserved.push_back("type");
  CheckedArguments checked = check_arguments(row->arguments, 0, value, reserved, what + " " + name, problems);
  if (!checked.complete) return std::nullopt;
  Json result = {{"type", name}};
  result.update(checked.values);
  return result;
}

}  // namespace sheaf::frontend
