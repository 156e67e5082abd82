"""The names that rules_cc exports, bound to the rules built into Bazel 4.2.3."""

cc_library = native.cc_library
cc_binary = native.cc_binary
cc_test = native.cc_test
cc_import = native.cc_import
cc_proto_library = native.cc_proto_library
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
cc_toolchain_alias = native.cc_toolchain_alias
objc_library = native.objc_library
objc_import = native.objc_import
fdo_prefetch_hints = native.fdo_prefetch_hints
fdo_profile = native.fdo_profile

# Only loaded by external rules.
cc_toolchain_config = None
cc_libc_top = None
