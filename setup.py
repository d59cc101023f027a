"""What pyproject.toml cannot say: the grammar's C parser, built once for every Python from 3.11 on (abi3)."""

from setuptools import Extension, setup

GRAMMAR = "tree-sitter-phobos"
BINDING = f"{GRAMMAR}/bindings/python/tree_sitter_phobos"

setup(
    ext_modules=[
        Extension(
            "tree_sitter_phobos._binding",
            sources=[f"{BINDING}/binding.c", f"{GRAMMAR}/src/parser.c"],
            include_dirs=[f"{GRAMMAR}/src"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
