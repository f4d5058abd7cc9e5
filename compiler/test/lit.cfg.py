# How lit runs the compiler's tests; test/run starts it.
import os
import sys

import lit.formats

build = lit_config.params["build"]
llvm = lit_config.params["llvm"]

config.name = "compiler"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".c", ".cpp", ".ll", ".mlir", ".test"]
config.excludes = ["Inputs"]
config.substitutions.append(("%python", f"'{sys.executable}'"))
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(build, "test")

# FileCheck, not, opt and clang are LLVM's, and farside-cc and farside-opt are what is tested.
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), os.path.join(llvm, "bin"), os.environ["PATH"]]
)

config.substitutions.append(("%bitcode", os.path.join(build, "lib", "farside")))
config.substitutions.append(("%plugin", os.path.join(build, "lib", "farside", "libfarside-compiler.so")))
# A program is compiled by clang and by farside-cc, to MLIR and back, and both do the same.
config.substitutions.append(("%same", os.path.join(config.test_source_root, "same") + " %t.d -ffarside-passes="))
# The same with all control flow structured on the way.
config.substitutions.append(
    (
        "%lifted",
        os.path.join(config.test_source_root, "same")
        + " %t.d -ffarside-passes=farside-structure,farside-unstructure",
    )
)

# Sections are what is tested, also where they have room for everything.
config.environment["FARSIDE_SECTIONS_CACHED"] = "always"

# The run-time half, if it is built: programs with sections then also run on far memory.
farside = os.environ.get("FARSIDE_BIN") or next(
    (
        path
        for profile in ("tested", "release", "debug")
        if os.path.exists(path := os.path.join(os.path.dirname(build), profile, "farside"))
    ),
    "",
)
if not farside:
    lit_config.note("no farside is built: programs with sections are run in plain memory only")
else:
    config.available_features.add("farside")
config.substitutions.append(("%farside", f"'{farside}'"))
config.substitutions.append(
    ("%remote", os.path.join(config.test_source_root, "remote-same") + " %t.d '" + farside + "'")
)
# Programs made by chance, compared with clang's.
config.substitutions.append(
    (
        "%differential",
        f"'{sys.executable}' {os.path.join(config.test_source_root, 'differential', 'differential.py')}"
        f" %t.d --farside '{farside}'",
    )
)
