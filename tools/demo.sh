#!/usr/bin/env bash
# From a fresh Debian 12 machine to models running on CPU devices: installs what is missing, builds sheaf, compiles
# and runs the data-parallel tutorials' models, trains a small one, and leaves placement pictures and outputs in
# build/demo/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup.sh --demo
tools/build.sh default sheaf-package  # all that `cmake --install build --prefix DIR` installs
sheaf=build/bin/sheaf
out=build/demo
mkdir -p "$out"

# compile NAME: models/NAME.json → build/demo/NAME.plan
compile() { "$sheaf" compile "models/$1.json" -o "$out/$1.plan"; }

# execute NAME DEVICES INPUT [BATCH_SIZE]: what the model prints goes to NAME-DEVICES.txt, its outputs beside it
execute() {
  local files=$out/$1-${2//[:,]/_}
  "$sheaf" run "$out/$1.plan" --devices "$2" --input "$3" ${4:+--batch-size "$4"} --seed 1 \
    --output "$files.safetensors" >"$files.txt"
  printf '  %-20s on %-12s %s\n' "$1" "$2" "$files.safetensors"
}

# picture NAME FORMAT DEVICES BATCH: which device does what, with every transfer and its reason
picture() {
  "$sheaf" dump "$out/$1.plan" --format "$2" --devices "$3" --batch "$4" -o "$out/$1.$2"
  printf '  %-20s on %-12s %s\n' "$1" "$3" "$out/$1.$2"
}

echo 'running'
compile tutorial
for devices in cpu:0 cpu:0-1 cpu:0-2 cpu:0-7; do
  execute tutorial "$devices" x=random:100 30
done
compile data_parallel_model
execute data_parallel_model cpu:0,cpu:1 x=random:20
compile distributed_model
execute distributed_model cpu:0 x=random:8
compile resnet18
execute resnet18 cpu:0,cpu:1 x=random:32

echo 'training on handwritten digits, two devices'
/usr/bin/python3 tools/digits.py "$out/digits" >/dev/null
compile digits_cnn
"$sheaf" train "$out/digits_cnn.plan" --devices cpu:0,cpu:1 --batch-size 32 --epochs 10 \
  --data x="$out/digits/train-images-idx3-ubyte" --data label="$out/digits/train-labels-idx1-ubyte" \
  --eval x="$out/digits/test-images-idx3-ubyte" --eval label="$out/digits/test-labels-idx1-ubyte" \
  --save "$out/digits_cnn.safetensors" --metrics "$out/digits_cnn.jsonl" --plot "$out/digits_cnn-training.svg" \
  2>"$out/digits_cnn.log" | sed 's/^/  /'

echo 'drawing'
picture tutorial svg cpu:0-2 30
picture distributed_model svg cpu:0 8
picture resnet18 html cpu:0-1 32
"$sheaf" dump "$out/data_parallel_model.plan" --program train --format svg --devices cpu:0,cpu:1 --batch 20 \
  -o "$out/data_parallel_model-train.svg"
printf '  %-20s on %-12s %s\n' data_parallel_model cpu:0,cpu:1 "$out/data_parallel_model-train.svg"

echo 'the tutorial on three devices, 100 rows in batches of 30:'
sed 's/^/  /' "$out/tutorial-cpu_0-2.txt"
