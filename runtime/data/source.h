// SOURCE of the command line: where the rows of an input or a target come from.
#pragma once

#include "runtime/data/row_source.h"
#include "sheaf/tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sheaf {

/// The numbers that random:ROWS draws from.
struct RandomRange {
  int64_t below = 0;           ///< integers are from 0 to below it (an embedding's rows, a number of classes); 0: 2
  bool probabilities = false;  ///< floating-point numbers are uniform from 0 to 1, not normal
};

/// What is wanted: an input or target as the model declares it.
struct SourceRequest {
  std::string name;
  DType dtype = DType::float32;
  std::vector<int64_t> shape;  ///< -1 for the batch, which stands at most once
  uint64_t seed = 0;           ///< of random:ROWS
  RandomRange random;
  /// Takes what is worth knowing of data that is taken all the same, located at its file; null: nobody does.
  void (*note)(const Diagnostic&) = nullptr;
};

struct DataSource {
  enum Kind { npy, npz, safetensors, idx, csv, text, tokens, images, classes, random } kind = idx;
  std::string file;
  std::string key;                   ///< npz, safetensors; csv: the columns; tokens: the SOURCE of the array
  int64_t rows = 0;                  ///< random
  std::vector<std::string> options;  ///< images; text and tokens: "next"
};

/// Takes `file.npy`, `file.npz:KEY`, `file.safetensors:KEY`, `file.csv:COLUMNS`, `text:FILE[,next]`, `tokens:SOURCE[,next]`,
/// `images:DIR[,OPTION…]`, `classes:DIR` and `random:ROWS` apart; any other
/// name is an IDX file's. Errors: rows that are no number, a missing KEY (with the archive's names, where it can be read), an option that
/// isn't one.
Result<DataSource> parse_source(const std::string& source);

/// The file or folder that parse_source would find in `source`; empty for `random:ROWS`. Reads nothing of it.
std::string file_of_source(const std::string& source);

/// Opens what `source` names, in the request's dtype and shape; the batch dimension takes whatever size the source has, and rows are
/// read as they are needed (what is packed, small or drawn is kept in memory). Converted: see convert(); an IDX file's bytes in two or
/// more dimensions are an image, which becomes float32 / 255, and gets a channel dimension of 1 behind its first where the declared
/// shape has one more. Bytes of other files are numbers from 0 to 255, also as floating-point numbers; then there is a note.
/// `random:ROWS` has ROWS along the batch dimension: numbers of the request's range, determined by seed and name. Errors name the
/// source, what was expected and what was found.
Result<std::unique_ptr<RowSource>> open_source(const std::string& source, const SourceRequest& request);

/// All rows of a source as a tensor. Errors: those of open_source() and RowSource::read(); too little memory.
Result<HostTensor> load_source(const std::string& source, const SourceRequest& request);

}  // namespace sheaf
