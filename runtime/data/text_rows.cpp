#include "runtime/data/text_rows.h"

#include "runtime/data/array_rows.h"
#include "runtime/data/convert.h"

#include <cstring>
#include <numeric>

namespace sheaf {
namespace {

class TextRows : public RowSource {
 public:
  /// Sequences of `tokens`, a source of one token a row, that begin `shift` tokens late.
  TextRows(std::unique_ptr<RowSource> tokens, std::vector<int64_t> shape, int batch_dim, int64_t shift)
      : RowSource(tokens->dtype(), std::move(shape), batch_dim), tokens_(std::move(tokens)), shift_(shift) {}

  Result<void> read(std::span<const int64_t> rows, int64_t, const RowTarget& target) const override {
    const size_t size = size_of(dtype()), length = layout().outer * layout().row_elements;
    std::vector<int64_t> places(length);
    std::vector<std::byte> sequence(length * size);
    for (size_t i = 0; i < rows.size(); ++i) {
      std::iota(places.begin(), places.end(), rows[i] * static_cast<int64_t>(length) + shift_);
      SHEAF_TRY(tokens_->read(places, 0, {sequence.data(), static_cast<int64_t>(length), 0}));
      const size_t bytes = layout().row_elements * size;
      for (size_t run = 0; run < layout().outer; ++run) {
        std::memcpy(target.batch + (run * static_cast<size_t>(target.rows) + static_cast<size_t>(target.first) + i) * bytes,
                    sequence.data() + run * bytes, bytes);
      }
    }
    return {};
  }

  Result<uint32_t> fingerprint() const override { return tokens_->fingerprint(); }
  std::optional<int64_t> below() const override { return tokens_->below(); }

 private:
  std::unique_ptr<RowSource> tokens_;
  int64_t shift_;
};

}  // namespace

Result<std::unique_ptr<RowSource>> open_text(const DataSource& source, const std::string& text, const SourceRequest& request) {
  const int batch_dim = batch_dim_of(request);
  if (request.shape.size() != 2 || batch_dim < 0 || is_floating(request.dtype))
    return Error(text + ": '" + request.name + "' is declared as " + std::string(name_of(request.dtype)) + " " +
                 shape_text(request.shape) +
                 "; sequences of tokens are [batch, length] or [length, batch], of an integer type");
  const int64_t length = request.shape[batch_dim == 0 ? 1 : 0];
  SourceRequest flat = request;
  flat.shape = {-1};
  std::unique_ptr<RowSource> tokens;
  if (source.kind == DataSource::text) {
    SHEAF_ASSIGN(tokens, open_bytes(source.file, flat));
  } else {
    SHEAF_ASSIGN(tokens, open_source(source.key, flat));
  }
  const int64_t rows = length > 0 ? (tokens->rows() - 1) / length : 0;
  if (rows <= 0)
    return Error(text + ": it has " + std::to_string(tokens->rows()) + " tokens; a row needs " + std::to_string(length) +
                 " and one that comes next");
  std::vector<int64_t> shape = request.shape;
  shape[static_cast<size_t>(batch_dim)] = rows;
  return std::unique_ptr<RowSource>(
      std::make_unique<TextRows>(std::move(tokens), std::move(shape), batch_dim, source.options.empty() ? 0 : 1));
}

}  // namespace sheaf
