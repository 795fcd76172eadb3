"""Finds a pip-installed torch (made by deploy/setup) and exposes it as a repository."""

VERSION = "2.15.0"

def _impl(ctx):
    env = ctx.os.environ
    var = "RONDO_TORCH_" + ctx.attr.flavour.upper()
    root = env.get(var) or "{}/.cache/rondo/torch-{}-{}".format(env.get("HOME", ""), VERSION, ctx.attr.flavour)
    top = ctx.path(root)
    if not top.get_child("torch").get_child("lib").exists:
        fail("no torch under {}: run deploy/setup {} (or set {})".format(root, ctx.attr.flavour, var))

    # Only these header directories: torch's google/, fmt/, pybind11/ ... stay hidden.
    for d in ["ATen", "c10", "caffe2", "torch"]:
        ctx.symlink(top.get_child("torch").get_child("include").get_child(d), "include/" + d)
    nv = top.get_child("nvidia")
    if ctx.attr.flavour == "cuda":
        ctx.symlink(nv.get_child("nccl").get_child("include"), "nccl/include")
        ctx.symlink(nv.get_child("cu13").get_child("include"), "cu13/include")
    ctx.template("BUILD", Label("//common/bazel/torch:" + ctx.attr.flavour + ".BUILD.tpl"), {
        "%{lib}": str(top.get_child("torch").get_child("lib")),
        "%{nvidia}": str(nv),
    })

torch_repository = repository_rule(
    implementation = _impl,
    attrs = {"flavour": attr.string(values = ["cpu", "cuda"])},
    environ = ["HOME", "RONDO_TORCH_CPU", "RONDO_TORCH_CUDA"],
    local = True,
)
