"""The JSON Schema accepts what the parser accepts and refuses what it refuses, but for what a schema cannot say.

corpus_test.cpp holds the parser to the same files. Needs the Python package jsonschema; says so and is skipped
(exit status 77) without it.
"""
import json
import os
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: the Python package jsonschema is not installed")
    sys.exit(77)

root = pathlib.Path(os.environ["SHEAF_SOURCE_DIR"])
schema = json.loads((root / "frontend/model.schema.json").read_text())
validator_class = getattr(jsonschema, "Draft202012Validator", None)
if validator_class is None:
    print("skipped: this jsonschema does not know draft 2020-12")
    sys.exit(77)
validator_class.check_schema(schema)
validator = validator_class(schema)

failures, checked = [], 0
corpus = root / "tests/unit/frontend/corpus"
for folder, accepted in ((corpus / "good", True), (root / "models", True), (corpus / "bad", False), (corpus / "bad-semantic", True)):
    files = sorted(folder.glob("*.json"))
    if not files:
        failures.append(f"no files in {folder}")
    for file in files:
        checked += 1
        if validator.is_valid(json.loads(file.read_text())) != accepted:
            failures.append(f"{file}: the schema {'refuses' if accepted else 'accepts'} it")
print(*failures, f"{checked} files checked, {len(failures)} failures", sep="\n")
sys.exit(1 if failures else 0)
