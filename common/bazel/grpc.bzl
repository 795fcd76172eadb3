"""cc_grpc_library: *.grpc.pb.{h,cc} from a proto_library, with Debian's plugin."""

load("@rules_proto//proto:defs.bzl", "ProtoInfo")

def _gen_impl(ctx):
    info = ctx.attr.proto[ProtoInfo]
    outs = []
    for src in info.direct_sources:
        base = src.basename[:-len(".proto")]
        outs += [ctx.actions.declare_file(base + e) for e in (".grpc.pb.h", ".grpc.pb.cc")]
    args = ctx.actions.args()
    args.add("--plugin=protoc-gen-grpc=" + ctx.executable._plugin.path)
    args.add("--grpc_out=" + ctx.bin_dir.path)
    args.add_all(info.transitive_proto_path, format_each = "-I%s")
    args.add("-I.")
    args.add_all(info.direct_sources)
    ctx.actions.run(
        executable = ctx.executable._protoc,
        tools = [ctx.executable._plugin],
        inputs = info.transitive_sources,
        outputs = outs,
        arguments = [args],
        mnemonic = "GrpcCpp",
    )
    return [
        DefaultInfo(files = depset(outs)),
        OutputGroupInfo(
            hdrs = depset([o for o in outs if o.extension == "h"]),
            srcs = depset([o for o in outs if o.extension == "cc"]),
        ),
    ]

_grpc_gen = rule(
    implementation = _gen_impl,
    attrs = {
        "proto": attr.label(providers = [ProtoInfo]),
        "_protoc": attr.label(default = "@system//:protoc", executable = True, cfg = "host"),
        "_plugin": attr.label(default = "@system//:grpc_cpp_plugin", executable = True, cfg = "host"),
    },
)

def cc_grpc_library(name, proto, cc_proto, **kw):
    _grpc_gen(name = name + "_gen", proto = proto)
    native.filegroup(name = name + "_h", srcs = [name + "_gen"], output_group = "hdrs")
    native.filegroup(name = name + "_cc", srcs = [name + "_gen"], output_group = "srcs")
    native.cc_library(
        name = name,
        srcs = [name + "_cc"],
        hdrs = [name + "_h"],
        deps = [cc_proto, "@system//:grpc", "@system//:protobuf"],
        **kw
    )
