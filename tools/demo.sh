#!/usr/bin/env bash
# From a fresh Debian 12 machine to models running on CPU devices: installs what is missing, builds sheaf, compiles
# and runs the data-parallel tutorials' models, and leaves placement pictures and outputs in build/demo/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup.sh
tools/build.sh default sheaf
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

echo 'drawing'
picture tutorial svg cpu:0-2 30
picture distributed_model svg cpu:0 8
picture resnet18 html cpu:0-1 32

echo 'the tutorial on three devices, 100 rows in batches of 30:'
sed 's/^/  /' "$out/tutorial-cpu_0-2.txt"
