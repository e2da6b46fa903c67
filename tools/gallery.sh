#!/usr/bin/env bash
# Draws the placement pictures of docs/gallery.md.
#   tools/gallery.sh [FOLDER]     FOLDER: docs/gallery, or where a test wants them; $SHEAF: the program
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${1:-docs/gallery}
sheaf=${SHEAF:-build/bin/sheaf}
mkdir -p "$folder"

picture() {  # NAME MODEL [OPTION…]
  "$sheaf" dump "models/$2.json" --format svg "${@:3}" -o "$folder/$1.svg"
}

picture tutorial-1 tutorial --devices cpu:0 --batch 10
picture tutorial-3 tutorial --devices cpu:0-2 --batch 10
picture tutorial-8 tutorial --devices cpu:0-7 --batch 10
picture data_parallel_model data_parallel_model
picture data_parallel_model-2 data_parallel_model --devices cpu:0,cpu:1 --batch 20
picture data_parallel_model-host data_parallel_model --devices cpu --batch 20
picture data_parallel_model-train data_parallel_model --program train
picture distributed_model distributed_model --devices cpu:0 --batch 8
picture word_language_model word_language_model --devices cpu:0,cpu:1 --batch 20
