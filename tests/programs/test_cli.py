"""Bad input to the command: each one located or named message, the documented exit status, no signal, nothing half-written."""
from lib import *

HEAD = "model m;\n"


def refused(folder, text, *messages, status=1, options=(), command="check", name="m.tlm"):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return tlmc(command, path, *options).fails(status, *messages)


def sources(folder):
    whole = open(example("quickstart_mlp"), "rb").read()
    refused(folder, b"", "error[E")
    for size in range(1, len(whole), 37):                       # truncated anywhere: accepted or refused, never a signal
        path = folder + "/cut.tlm"
        open(path, "wb").write(whole[:size])
        r = tlmc("check", path)
        check(r.status in (0, 1), f"cut at {size}: status {r.status}\n{r.err}")
    refused(folder, bytes(range(256)) * 16, "error[E01")
    refused(folder, b"\x7fELF" + bytes(5000), "error[E01")
    refused(folder, b"# " + b"x" * (100 << 20) + b"\n", "E0801")
    deep = "(" * 10000 + "1" + ")" * 10000
    refused(folder, HEAD + "n = " + deep + ";", "E0802")
    refused(folder, HEAD + "n = " + "- " * 10000 + "1;", "E0802")
    refused(folder, HEAD + "n = " + "[" * 10000, "E0802")
    refused(folder, HEAD + "if true { " * 10000, "E0802")
    refused(folder, HEAD + "n = " + "1 + " * 1_000_000 + "1;", "error[E")
    tlmc("check", folder).fails(1, "E0105")
    tlmc("check", folder + "/none.tlm").fails(1, "E0105", "none.tlm")


def models(folder):
    refused(folder, HEAD + "input x: f32[2];\noutput y = frobnicate(x);", "m.tlm:3:12: error[E0301]", "frobnicate", "^")
    refused(folder, HEAD + "input x: f32[2];\noutput y = x @ x;", "error[E0403]")
    refused(folder, HEAD + "input a: f32[2, 3];\ninput b: f32[4, 2];\noutput y = a @ b;", "error[E0404]", "f32[2, 3]", "f32[4, 2]")
    refused(folder, HEAD + "dim n = 70000;\ninput x: f32[n, n];\noutput y = relu(x);", "E0804")
    refused(folder, HEAD + "dim n = 9000000000 * 9000000000;", "E0406")
    refused(folder, HEAD + "input x: f32[2, 4];\ny = linear(linear(x, 4), 4);\noutput y;", "E0501", "made twice")
    refused(folder, HEAD + "for i in 0..1000000000 { n = i; }", "E0803")
    refused(folder, HEAD + "block b(x: f32[2]) { return b(x); }\ninput x: f32[2];\noutput y = b(x);", "E0411")
    entry = "entry %s {\n  input x: f32[2, 2];\n  y = linear(x, 2) as l;\n  output y;\n  loss mean = reduce_mean(y);\n}\n"
    trained = "train {\n  data \"f.npy\" { x = array(); }\n" + "".join(f"  entry {e} {{ optimizer sgd(lr = 0.1); }}\n" for e in "ab") + "  steps 1;\n}\n"
    refused(folder, HEAD + entry % "a" + entry % "b" + trained, "E0605", command="plan")
    open(folder + "/a.tlm", "w").write('import "b.tlm";\n')
    open(folder + "/b.tlm", "w").write('import "a.tlm";\n')
    refused(folder, HEAD + 'import "a.tlm";\ninput x: f32[2];\noutput y = relu(x);', "E0307", "circle")
    refused(folder, HEAD + 'import "none.tlm";\n', "E0307", "none.tlm")
    refused(folder, HEAD + "input x: f32[1, 3, 8, 8];\nparam w: f32[4, 3, 3, 3] = 0.0;\noutput y = conv(x, w);", "E0413")


def defines(folder):
    q = example("quickstart_mlp")
    tlmc("check", q, "-D", "batch=5").ok()
    tlmc("check", q, "-D", "bacth=5").fails(1, "E0308", "bacth")
    for value in ("batch=", "batch=x", "batch=1.5", "batch=-1", "batch=99999999999999999999", "batch=1x"):
        tlmc("check", q, "-D", value).fails(1, "E0401" if value == "batch=-1" else "E0308")


def usage(folder):
    q = example("quickstart_mlp")
    tlmc().fails(2)
    tlmc("frobnicate").fails(2, "unknown command 'frobnicate'")
    tlmc("check").fails(2, "one model file is needed")
    tlmc("check", q, q).fails(2, "one model file")
    tlmc("check", q, "--frobnicate").fails(2, "unknown option")
    tlmc("plan", q, "--profile").fails(2, "needs an argument")
    tlmc("plan", q, "--profile", "a", "--profile", "b").fails(2, "given twice")
    tlmc("plan", q, "--format", "xml").fails(2, "unknown format 'xml'")
    tlmc("check", q, "--dump-after", "nothing").fails(2, "no pass 'nothing'", "known:")
    tlmc("check", q, "--no-pass", "autodiff").fails(2, "no optional pass")
    tlmc("--help").ok()
    check("CUDA toolkit: " in tlmc("--version").ok().out, "whether this tlmc has a CUDA toolkit is said")
    for command in "check fmt plan emit build run eval capsules profiles ops".split():
        check("usage: tlmc " + command in tlmc(command, "--help").ok().out, f"{command} --help")


def devices(folder):
    q = example("quickstart_mlp")
    for device in ("tpu", "rocm", "metal", "wasm", "trainium", "custom", "external"):
        tlmc("plan", q, "--device", device).fails(3, "no maintained runtime profile", device)
    r = tlmc("plan", q, "--device", "foo").fails(3, "E0911", "foo")
    for device in ("cpu", "cuda", "tpu"):
        check(device in r.err, f"--device foo does not list {device}")
    tlmc("plan", q, "--profile", "foo").fails(3, "E0911", "checked_cpu")
    tlmc("plan", q, "--profile", "openblas_cpu", "--explain")
    tlmc("plan", q, "--profile", "libtorch_forward_cuda")
    tlmc("emit", q, "--device", "rocm", "-o", folder + "/out").fails(3, "no maintained runtime profile")
    check(not os.path.exists(folder + "/out"), "a refused plan left a folder")
    tlmc("emit", q, "--device", "cuda", "-o", folder + "/out").ok()
    equal(sorted(os.path.splitext(f)[1] for f in os.listdir(folder + "/out")), [".c", ".c", ".cu", ".h", ".json", ".txt"],
          "what emit writes for CUDA: nothing binary")


def verified_is_refused(folder):
    open(folder + "/strict.capsules", "w").write(
        "profile strict_cpu {\n  device cpu;\n  backend auto;\n  assurance verified;\n  vjp graph-vjp;\n  modules native-c;\n  lowering coalesced;\n}\n")
    r = tlmc("plan", example("quickstart_mlp"), "--capsules", folder + "/strict.capsules", "--profile", "strict_cpu")
    r.fails(3, "matmul", "native_c.matmul", "trust-not-admitted(checked)")


def outputs(folder):
    q = example("quickstart_mlp")
    open(folder + "/file", "w").write("x")
    tlmc("emit", q, "-o", folder + "/file/below").fails(2, "cannot make folder")
    tlmc("emit", q, "-o", folder + "/file").fails(2, "cannot make folder")
    tlmc("build", q, "-o", folder + "/p", "--cc", "no-such-compiler").fails(2, "no-such-compiler")
    tlmc("build", q, "-o", folder + "/p", "--cflags", "-fno-such-flag").fails(2, "did not compile")
    check(not os.path.exists(folder + "/p"), "a failed build left a program")
    tlmc("build", q, "-o", folder + "/none/p", "--cc", "no-such-compiler").fails(2, f"cannot write '{folder}/none/p'")
    equal(sorted(os.listdir(folder)), ["file"], "left files")


def shells(folder):
    """Shell and runtime come as an object that travels in tlmc, or are compiled with the user's compiler and flags: one program."""
    q, out = example("quickstart_mlp"), folder + "/p"
    texts = {}
    for name, options, env in (("object", (), {}), ("cflags", ("--cflags", "-O1"), {}), ("cc", ("--cc", "cc"), {}), ("CC", (), {"CC": "cc"}),
                               ("keep", ("--keep", folder + "/kept"), {})):
        tlmc("build", q, "-o", out, *options, env={"CC": "", **env}).ok()
        texts[name] = run([out, "--steps", "3", "--show-backend"], cwd=EXAMPLES + "/quickstart_mlp").ok().out
    equal(set(texts.values()), {texts["object"]}, "what the programs print")
    kept = open(folder + "/kept/quickstart_mlp_main.c").read()
    check("int tlm_shell_main(const tlm_program *program, int argc, char **argv)\n{" in kept, "kept sources hold the shell")
    tlmc("build", q, "-o", out, env={"CC": "no-such-compiler"}).fails(2, "no-such-compiler")


def layout(folder):
    path = folder + "/m.tlm"
    open(path, "w").write("model m;input x:f32[2];   # in\noutput y=relu( x );\n")
    tlmc("fmt", "--check", path).fails(1, "not in house layout")
    text = tlmc("fmt", path).ok().out
    check("# in" in text, "fmt loses a comment")
    tlmc("fmt", "-w", path).ok()
    equal(open(path).read(), text, "fmt -w")
    tlmc("fmt", "--check", path).ok()
    for name in ("quickstart_mlp", "digits_mlp", "char_gpt", "gpt2"):
        first = tlmc("fmt", example(name)).ok().out
        open(path, "w").write(first)
        equal(tlmc("fmt", path).ok().out, first, f"fmt of fmt of {name}")


main(sources, models, defines, usage, devices, verified_is_refused, outputs, shells, layout)
