// Notes on what the compiler decided about an op (`nn.notes`, a sentence each): codegen writes them into the plan's steps,
// `sheaf explain` shows them.
#pragma once

#include "ir/Nn/Checkpoint.h"
#include "ir/Nn/Nn.h"

#include "llvm/ADT/SetVector.h"

namespace sheaf::passes {

inline llvm::ArrayRef<mlir::Attribute> notes_of(mlir::Operation* op) {
  auto notes = op->getAttrOfType<mlir::ArrayAttr>(nn::kNotes);
  return notes ? notes.getValue() : llvm::ArrayRef<mlir::Attribute>();
}

/// Adds a sentence, once.
inline void note(mlir::Operation* op, const llvm::Twine& sentence) {
  llvm::SmallSetVector<mlir::Attribute, 4> notes(notes_of(op).begin(), notes_of(op).end());
  notes.insert(mlir::StringAttr::get(op->getContext(), sentence));
  op->setAttr(nn::kNotes, mlir::ArrayAttr::get(op->getContext(), notes.getArrayRef()));
}

/// `to` takes `from`'s place, or part of its work.
inline void take_notes(mlir::Operation* from, mlir::Operation* to) {
  for (mlir::Attribute sentence : notes_of(from)) note(to, llvm::cast<mlir::StringAttr>(sentence).getValue());
}

/// `to` computes the result of `from`: it stays unfused if that did (nn.apart).
inline void take_result(mlir::Operation* from, mlir::Operation* to) {
  if (mlir::Attribute apart = from->getAttr(nn::kApart)) to->setAttr(nn::kApart, apart);
}

/// "layer 'net.conv1'"; the op's own name if it comes from no layer.
inline std::string in_words(mlir::Operation* op) {
  std::string layer = nn::layer_of(op).str();
  return layer.empty() ? "'" + op->getName().stripDialect().str() + "'" : "layer '" + layer + "'";
}

}  // namespace sheaf::passes
