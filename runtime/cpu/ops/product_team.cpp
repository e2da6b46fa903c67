#include "runtime/cpu/ops/product_team.h"

#include "runtime/cpu/ops/activation.h"
#include "runtime/cpu/ops/column_sums.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

namespace sheaf {
namespace {

struct Zeros {
  BufferRef where;
  size_t bytes;
};

/// Column sums of a row-major matrix, for the columns of one member.
struct Sums {
  BufferRef matrix, sums;
  int64_t rows = 0, columns = 0, row_stride = 0;

  void run(void* const* buffers, void* scratch) const {
    sum_columns(matrix.resolve(buffers, scratch), dnnl::memory::data_type::f32, rows, columns, row_stride,
                reinterpret_cast<float*>(sums.resolve(buffers, scratch)));
  }
};

/// One of a member's products: which of its calls makes it, and on what.
struct MemberProduct {
  size_t call;
  BufferRef a, b, c;
};

/// Products of the same sizes share a call, whose arguments are moved: there may be thousands of them.
struct Member {
  std::vector<Zeros> zeros;
  Sums sums;
  std::vector<DnnlCall> calls;  ///< their first three arguments are a, b and c
  std::vector<MemberProduct> products;

  void run(void* const* buffers, void* scratch) {
    for (const Zeros& range : zeros) std::memset(range.where.resolve(buffers, scratch), 0, range.bytes);
    if (sums.columns > 0) sums.run(buffers, scratch);
    for (const MemberProduct& product : products) {
      DnnlCall& call = calls[product.call];
      call.move_argument(0, product.a);
      call.move_argument(1, product.b);
      call.move_argument(2, product.c);
      call.run(buffers, scratch);
    }
  }
};

class TeamExecutable final : public Executable {
 public:
  TeamExecutable(ResidualCopy residual, std::vector<Member> members)
      : residual_(std::move(residual)), members_(std::move(members)) {}
  void run(void* const* buffers, void* scratch) override {
    const auto count = static_cast<int>(members_.size());
    set_team_size(count);
    residual_.run(buffers, scratch);
    parallel_for(count, 1, count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) members_[static_cast<size_t>(i)].run(buffers, scratch);
    });
  }

 private:
  ResidualCopy residual_;
  std::vector<Member> members_;
};

BufferRef at(const MatrixOperand& operand, int64_t elements) {
  return {operand.buffer.buffer, operand.buffer.offset + static_cast<size_t>(elements) * sizeof(float)};
}

/// Makes the products for a share of the columns, by one thread.
class MemberBuilder {
 public:
  MemberBuilder(const Operation& operation, const ProductList& list, int64_t begin, int64_t end, const ScratchPlan& scratch)
      : operation_(operation),
        list_(list),
        begin_(begin),
        columns_(end - begin),
        scratchpad_{BufferRef::scratch, scratch.bytes()} {}

  void add(const Product& product) {
    member.products.push_back({call_of(product), at(list_.a, product.a),
                               at(list_.b, product.b + begin_ * list_.b.column_stride),
                               at(list_.c, product.c + begin_ * list_.c.column_stride)});
  }

  Member member;
  std::string implementation;
  size_t scratchpad_bytes = 0;  ///< one for all products, which come one after another

 private:
  /// Index of the call for products of this one's sizes.
  size_t call_of(const Product& product) {
    const auto key = std::make_tuple(product.rows, product.depth, product.first, product.last);
    if (auto found = calls_.find(key); found != calls_.end()) return found->second;
    const bool biased = product.first && operation_.has("bias");
    const auto matrix = [](int64_t rows, int64_t columns, const MatrixOperand& operand) {
      return DnnlDesc({rows, columns}, dnnl::memory::data_type::f32, DnnlDims{operand.row_stride, operand.column_stride});
    };
    dnnl::post_ops post_ops;
    if (!product.first || operation_.has("residual")) post_ops.append_sum(1.f);
    if (const auto activation = activation_of(operation_); product.last && activation)
      post_ops.append_eltwise(1.f, activation->algorithm, activation->alpha, activation->beta);
    dnnl::primitive_attr attributes = step_attributes();
    attributes.set_post_ops(post_ops);
    const dnnl::matmul::primitive_desc pd(
        dnnl::matmul::desc(matrix(product.rows, product.depth, list_.a), matrix(product.depth, columns_, list_.b),
                           biased ? plain_desc({1, columns_}) : DnnlDesc(), matrix(product.rows, columns_, list_.c)),
        attributes, dnnl_engine());
    implementation = pd.impl_info_str();
    scratchpad_bytes = std::max(scratchpad_bytes, pd.scratchpad_desc().get_size());
    DnnlCall call{dnnl::matmul(pd)};
    call.argument(DNNL_ARG_SRC, pd.src_desc(), {})
        .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), {})
        .argument(DNNL_ARG_DST, pd.dst_desc(), {})
        .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratchpad_);
    if (biased) {
      BufferRef bias = operation_.input_buffer("bias");
      bias.offset += static_cast<size_t>(begin_) * sizeof(float);
      call.argument(DNNL_ARG_BIAS, pd.bias_desc(), bias);
    }
    member.calls.push_back(std::move(call));
    return calls_[key] = member.calls.size() - 1;
  }

  const Operation& operation_;
  const ProductList& list_;
  int64_t begin_, columns_;
  BufferRef scratchpad_;
  std::map<std::tuple<int64_t, int64_t, bool, bool>, size_t> calls_;
};

/// Where member `index` of `count` begins: shares are whole cache lines of 16 columns.
int64_t share_begin(int64_t columns, int64_t index, int64_t count) {
  constexpr int64_t line = 16;
  return std::min(columns, (columns + line - 1) / line * index / count * line);
}

}  // namespace

void prepare_products(const Operation& operation, const ProductList& list, const DnnlDesc& target, const char* name,
                      Prepared& prepared) {
  const int64_t threads = operation.request.threads;
  // Each share of columns packs all of a again, so they should be wide; parts should be enough to be dealt out evenly.
  constexpr int64_t least_columns = 128, least_parts = 4;
  const bool by_parts = list.column_sums.rows == 0 && list.columns < least_columns * threads &&
                        list.parts >= least_parts * threads;
  std::vector<Member> members;
  ScratchPlan scratch;
  prepared.implementation = name;
  {
    const TeamSize single(1);  // inside the team each product has one thread
    for (int64_t i = 0; i < threads; ++i) {
      const int64_t begin = by_parts ? 0 : share_begin(list.columns, i, threads),
                    end = by_parts ? list.columns : share_begin(list.columns, i + 1, threads);
      const int64_t first_part = by_parts ? list.parts * i / threads : 0,
                    end_part = by_parts ? list.parts * (i + 1) / threads : list.parts;
      MemberBuilder builder(operation, list, begin, end, scratch);
      for (const Product& product : list.products)
        if (begin < end && product.part >= first_part && product.part < end_part) builder.add(product);
      scratch.take(builder.scratchpad_bytes);
      if (list.column_sums.rows > 0) {
        builder.member.sums = {at(list.b, begin), list.column_sums.sums, list.column_sums.rows, end - begin,
                               list.b.row_stride};
        builder.member.sums.sums.offset += static_cast<size_t>(begin) * sizeof(float);
      }
      if (!builder.implementation.empty()) prepared.implementation = std::string(name) + ", " + builder.implementation;
      members.push_back(std::move(builder.member));
    }
  }
  for (size_t i = 0; i < list.zeros.size(); ++i)
    members[i % members.size()].zeros.push_back(
        {at(list.c, list.zeros[i].begin), static_cast<size_t>(list.zeros[i].count) * sizeof(float)});
  prepared.scratch_bytes = scratch.bytes();
  const TeamSize team(operation.request.threads);  // the residual's copy is made by all
  ResidualCopy residual(operation, target, prepared);
  prepared.executable = std::make_unique<TeamExecutable>(std::move(residual), std::move(members));
}

}  // namespace sheaf
