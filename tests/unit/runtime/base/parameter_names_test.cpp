// Which of a model's names those of a file mean.
#include "runtime/base/parameter_names.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

using Names = std::vector<std::string>;

/// The known name that each given one means; "-" for none.
Names meant(const Names& known, const Names& given) {
  Names result;
  for (const auto& match : match_names(known, given)) result.push_back(match ? known[*match] : "-");
  return result;
}

TEST(ParameterNames, ModulePartsGoWhereverTheyStand) {
  EXPECT_EQ(without_module("module.a.module.b"), "a.b");
  EXPECT_EQ(without_module("a.modules.module2"), "a.modules.module2");
  EXPECT_EQ(without_module("a.module"), "a");
  EXPECT_EQ(without_module("module"), "");
  EXPECT_EQ(without_module(""), "");
}

TEST(ParameterNames, AModelThatIsWrappedAsAWholeIsFoundUnderItsOwnNames) {
  const Names known = {"net.module.a.weight", "net.module.a.bias", "net.module.b.weight"};
  for (const std::string front : {"", "module.", "net.", "net.module.", "module.net.", "model.", "model.net."}) {
    const Names given = {front + "b.weight", front + "a.weight", front + "a.bias"};
    if (front == "model.") {  // another wrapper instead of this one: choosing between the two would be a guess
      EXPECT_EQ(meant(known, given), (Names{"-", "-", "-"}));
    } else {
      EXPECT_EQ(meant(known, given), (Names{known[2], known[0], known[1]})) << front;
    }
  }
}

TEST(ParameterNames, OneReadingHoldsForAllNames) {
  // "a.weight" alone would be net.a.weight under one reading and a.net.a.weight under none: names are never mixed.
  const Names known = {"net.a.weight", "net.net.a.weight"};
  EXPECT_EQ(meant(known, {"net.a.weight", "net.net.a.weight"}), known);
  EXPECT_EQ(meant(known, {"a.weight", "net.a.weight"}), (Names{"net.a.weight", "net.net.a.weight"}));
  EXPECT_EQ(meant(known, {"net.a.weight", "b.weight"}), (Names{"net.a.weight", "-"}));
}

TEST(ParameterNames, NamesThatDifferInModulePartsAloneAreToldByTheirFullNames) {
  const Names known = {"a.module.weight", "a.weight"};
  EXPECT_EQ(meant(known, {"a.weight", "a.module.weight", "module.a.weight"}), (Names{"a.weight", "a.module.weight", "-"}));
}

TEST(ParameterNames, ASuperfluousNameDoesNotHideTheRest) {
  const Names known = {"net.a.weight", "net.a.bias"};
  EXPECT_EQ(meant(known, {"a.weight", "a.bias", "head.weight"}), (Names{known[0], known[1], "-"}));
  EXPECT_EQ(meant(known, {}), Names{});
  EXPECT_EQ(meant({}, {"a"}), Names{"-"});
}

}  // namespace
}  // namespace sheaf
