# Tests of the IR: each .mlir file says in its first lines how it is run (`RUN:`) and what it claims.
import os

import lit.formats

config.name = "sheaf"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.binary_root
config.environment["PATH"] = os.pathsep.join([config.sheaf_tools, config.llvm_tools, config.environment["PATH"]])
config.substitutions.append(("%{python}", config.python))
config.substitutions.append(("%{source}", config.source_root))
