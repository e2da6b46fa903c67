"""python3 -m sheaf import …: called by `sheaf import` of the command line."""
import sys

from .import_command import main

if __name__ == "__main__":
    if sys.argv[1:2] != ["import"]:
        print("usage: python3 -m sheaf import NET.pt2 -o NET.json [--weights NET.safetensors]", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[2:]))
