"""Training cases of functions of one element, choices, and values that no input makes. As train_cases, whose list they join."""
from layer_cases import B
from train_cases import FEW, case, linear, named, of, parallel

SGD = {"type": "SGD", "lr": 1.0}


def beside(layers, inputs=1):
    """Each layer on a linear layer's output of its own, one after another."""
    made = []
    for i, layer in enumerate(layers):
        made += [named(f"fc{i}", linear(5, 4), "input"), named(f"f{i}", layer)]
    return {"layers": made + [named("all", of("Concat", dim=1), *[f"f{i}" for i in range(len(layers))])]}


ACTIVATIONS = [of("Hardswish"), of("Hardsigmoid"), of("Softplus", beta=1.5, threshold=2.0), of("Mish"), of("SELU"), of("CELU", alpha=0.6), of("LogSigmoid"),
               of("Softsign"), of("PReLU", num_parameters=4), of("PReLU"), of("Hardshrink", lambd=0.2), of("Softshrink", lambd=0.1),
               of("Threshold", threshold=0.1, value=-0.4), of("Tanhshrink")]
case("element_activations", {"x": [B, 5]}, [parallel("net", of("All"))], [B, 4 * len(ACTIVATIONS)], "MSELoss", SGD, modules={"All": beside(ACTIVATIONS)})
case("element_activations_far", {"wide": [B, 5]}, [parallel("net", of("All"))], [B, 4 * 8], "L1Loss", devices=FEW, modules={"All": beside(ACTIVATIONS[:8])})
case("glu", {"x": [B, 3, 5]}, [parallel("net", {"type": "Sequential", "layers": [linear(5, 6), of("GLU"), of("PReLU", num_parameters=3)]})], [B, 3, 3], "MSELoss", SGD)
FUNCTIONS = [of("Expm1"), of("Exp"), of("Abs"), of("Neg"), of("Sin"), of("Cos"), of("Erf"), of("Pow", exponent=2), of("Pow", exponent=3),
             of("Clamp", min=-0.3, max=0.6), of("Add", other=0.3), of("Sub", other=0.3), of("Mul", other=-0.7), of("Div", other=2.5),
             of("Minimum", other=0.2), of("Maximum", other=-0.1)]
case("functions", {"x": [B, 5]}, [parallel("net", of("All"))], [B, 4 * len(FUNCTIONS)], "MSELoss", {"type": "SGD", "lr": 0.3}, modules={"All": beside(FUNCTIONS)})
INVERSES = [of("Asin"), of("Acos"), of("Atan"), of("Sinh"), of("Cosh"), of("Asinh"), of("Atanh"), of("Atan2")]
case("inverses", {"x": [B, 5]}, [parallel("net", of("All"))], [B, 4 * 9], "MSELoss", {"type": "SGD", "lr": 0.3}, modules={"All": {"layers": [
    *[layer for i, f in enumerate(INVERSES) for layer in (named(f"fc{i}", linear(5, 4), "input"), named(f"s{i}", of("Tanh")), named(f"p{i}", of("Mul", other=0.8)),
                                                          named(f"f{i}", f, *([f"p{i}", "p0"] if f["type"] == "Atan2" else [])))],
    named("fc", linear(5, 4), "input"), named("s", of("Sigmoid")), named("p", of("Add", other=1.1)), named("f", of("Acosh")),
    named("all", of("Concat", dim=1), *[f"f{i}" for i in range(len(INVERSES))], "f")]}})
POSITIVE = [of("Log"), of("Log1p"), of("Sqrt"), of("Rsqrt"), of("Reciprocal"), of("Pow", exponent=1.7), of("Pow", exponent=-0.5)]
case("functions_of_positive", {"x": [B, 5]}, [parallel("net", of("All"))], [B, 4 * len(POSITIVE)], "MSELoss", SGD, modules={"All": {
    "layers": [layer for i, f in enumerate(POSITIVE) for layer in (
        named(f"fc{i}", linear(5, 4), "input"), named(f"s{i}", of("Sigmoid")), named(f"p{i}", of("Add", other=0.2)), named(f"f{i}", f))]
    + [named("all", of("Concat", dim=1), *[f"f{i}" for i in range(len(POSITIVE))])]}})
case("two_operands", {"a": [B, 3, 4], "b": [B, 4]}, [parallel("net", of("Ops"))], [B, 15, 4], "MSELoss", SGD, batch=7, modules={"Ops": {
    "inputs": ["a", "b"], "layers": [
        named("fa", linear(4, 4), "a"), named("fb", linear(4, 4), "b"), named("row", of("Reshape", shape=[-1, 1, 4]), "fb"),
        named("sa", of("Sigmoid"), "fa"), named("pa", of("Add", other=0.3)), named("sb", of("Sigmoid"), "row"), named("pb", of("Add", other=0.5)),
        named("div", of("Div"), "pa", "pb"), named("minimum", of("Minimum"), "fa", "row"), named("maximum", of("Maximum"), "row", "fa"),
        named("pow", of("Pow"), "pa", "pb"), named("above", of("Gt"), "fa", "row"), named("where", of("Where"), "above", "pa", "row"),
        named("all", of("Concat", dim=1), "div", "minimum", "maximum", "pow", "where")]}})
case("values", {"x": [B, 3, 4]}, [parallel("net", of("Tokens"))], [B, 4, 4], "MSELoss", SGD, batch=7, modules={"Tokens": {"inputs": ["input"], "layers": [
    named("cls", of("Parameter", shape=[1, 1, 4])), named("expand", of("Expand", shape=["batch", -1, -1]), "cls", "input"),
    named("all", of("Concat", dim=1), "expand", "input"), named("position", of("Parameter", shape=[1, 4, 4])), named("sum", of("Add"), "all", "position"),
    named("scale", of("Parameter", shape=[])), named("scaled", of("Mul"), "sum", "scale"), named("offset", of("Buffer", shape=[4, 1])),
    named("moved", of("Add"), "scaled", "offset"), named("rows", of("Constant", value=[[1], [0], [1], [1]], dtype="bool")), named("none", of("Constant", value=-0.5)),
    named("masked", of("Where"), "rows", "moved", "none"), named("fc", linear(4, 4))]}})
case("values_outside", {"x": [B, 3, 4]}, [
    named("weight", of("Parameter", shape=[4, 2])), named("product", of("MatMul"), "x", "weight"), named("row", of("Parameter", shape=[2])),
    parallel("net", of("Mul"), inputs=["product", "row"]), named("offset", of("Constant", value=[0.5, 1.5])), named("last", of("Add"), "net", "offset")],
     [B, 3, 2], "MSELoss", SGD, batch=7)

# Parameters that stay as they are, and a layer whose parameters are another's.
case("frozen", {"x": [B, 5]}, [
    parallel("net", {"type": "Sequential", "layers": [{**linear(5, 4), "trainable": False}, of("Tanh"), {"type": "Sequential", "trainable": False,
                                                      "layers": [linear(4, 4), of("SiLU")]}, linear(4, 2)]}),
    named("offset", of("Parameter", shape=[2], trainable=False)), named("sum", of("Add"), "net", "offset")],
     [B, 2], "MSELoss", {"type": "Adam", "lr": 0.02, "weight_decay": 0.1})
case("called_twice", {"x": [B, 4]}, [
    parallel("net", {"type": "Sequential", "layers": [linear(4, 4), of("Tanh")]}), named("between", linear(4, 4)),
    {**parallel("again", {"type": "Sequential", "layers": [linear(4, 4), of("Tanh")]}), "share": "net"}], [B, 4], "MSELoss", SGD, devices=FEW)
