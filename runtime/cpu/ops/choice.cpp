#include "runtime/cpu/ops/choice.h"

#include "runtime/base/joined.h"
#include "runtime/machine/isa.h"

#include <algorithm>

namespace sheaf {
std::optional<std::vector<std::string>> passed_over(const dnnl::primitive_desc_base& pd) {
  // Not the C++ class's next_impl(): its iterator points to the operation's descriptor, which is gone by now. The one in
  // `pd` lives as long as that.
  const auto ask = [](const_dnnl_primitive_desc_t of, dnnl_query_t what, void* answer) {
    return dnnl_primitive_desc_query(of, what, 0, answer) == dnnl_success;
  };
  dnnl_prop_kind_t kind = dnnl_prop_kind_undef;
  if (ask(pd.get(), dnnl_query_prop_kind, &kind) && kind >= dnnl_backward && kind != dnnl_prop_kind_undef) return std::nullopt;
  const_dnnl_op_desc_t operation = nullptr;
  const_dnnl_primitive_attr_t attributes = nullptr;
  dnnl_primitive_desc_iterator_t iterator = nullptr;
  if (!ask(pd.get(), dnnl_query_op_d, &operation) || !operation ||
      dnnl_primitive_desc_get_attr(pd.get(), &attributes) != dnnl_success ||
      dnnl_primitive_desc_iterator_create(&iterator, operation, attributes, dnnl_engine().get(), nullptr) != dnnl_success) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  const std::string taken = pd.impl_info_str();
  do {
    dnnl_primitive_desc_t other = dnnl_primitive_desc_iterator_fetch(iterator);
    const char* name = nullptr;
    if (other && ask(other, dnnl_query_impl_info_str, &name) && name != taken &&
        std::find(names.begin(), names.end(), name) == names.end()) {
      names.emplace_back(name);
    }
    dnnl_primitive_desc_destroy(other);
  } while (dnnl_primitive_desc_iterator_next(iterator) == dnnl_success);
  dnnl_primitive_desc_iterator_destroy(iterator);
  return names;
}

std::string library_reason(std::string why, const std::vector<std::string>* passed_over) {
  std::string reason = std::move(why);
  if (!reason.empty()) reason += "; ";
  reason += std::string("oneDNN's first choice for these shapes and formats on a CPU with ") + widest_instructions();
  if (!passed_over) return reason;
  if (passed_over->empty()) return reason + "; it has no other for them";
  return reason + "; passed over, in its order of preference: " + joined(*passed_over);
}

void take_loop(Prepared& prepared, std::string why) {
  prepared.implementation = "loop";
  prepared.reason = std::move(why);
}

}  // namespace sheaf
