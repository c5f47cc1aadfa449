"""Bad input to the command: each one located or named message, the documented exit status, no signal, nothing half-written."""
import signal
import time

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
    for argv in (["plan", "--profile", "--explain"], ["build", "--cc", "-O2"], ["build", "--arch", "-o", "x"], ["build", "-o", "--keep"],
                 ["check", "-D", "-I"], ["eval", "--input", "--load"]):
        tlmc(*argv, q).fails(2, f"option '--{'output' if '-o' in argv[1] else 'define' if argv[1] == '-D' else argv[1][2:]}' needs an argument, "
                             f"which '{argv[2]}' is not")
    tlmc("eval", q, "--seed", "-1").fails(2, "--seed takes a whole number")     # an argument, and a wrong one
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


def programs(folder):
    """Where no program can be written, it is said at once: the compiler, which would fail, is not asked."""
    q = example("quickstart_mlp")
    os.makedirs(folder + "/d/quickstart_mlp")
    open(folder + "/f", "w").close()
    shutil.copy(q, folder + "/m.tlm")
    for path, why in ((".", "Is a directory"), ("d", "Is a directory"), ("d/", "Is a directory"), ("/", "Is a directory"),
                      ("none/p", "No such file"), ("f/p", "Not a directory"), ("f/", "Not a directory"), ("/dev/full", "it is not a file"),
                      ("x" * 256, "File name too long"), ("./" * 2047 + "abcdef", "File name too long"), ("m.tlm", "it is the model")):
        r = tlmc("build", "m.tlm", "-o", path, "--cc", "no-such-compiler", cwd=folder).fails(2, f"tlmc: cannot write '{path}': {why}")
        equal(r.err.count("\n"), 1, "lines of the message")
    tlmc("build", q, "--cc", "no-such-compiler", cwd=folder + "/d").fails(2, "tlmc: cannot write 'quickstart_mlp': Is a directory")
    for command, option in (("emit", "-o"), ("build", "-o"), ("build", "--keep"), ("run", "--keep"), ("check", "-I"), ("plan", "--capsules"),
                            ("eval", "--load"), ("build", "--cuda-path"), ("emit", "--depfile")):
        tlmc(command, q, option, "", cwd=folder).fails(2, "'': no file or folder is named")
    tlmc("eval", q, "--result", "y=", cwd=folder).fails(2, "'y=': no file or folder is named")
    equal(sorted(os.listdir(folder)), ["d", "f", "m.tlm"], "left files")
    long = "x" * 255                                             # as long as a name can be
    tlmc("build", q, "-o", long, cwd=folder).ok()
    run(["./" + long, "--help"], cwd=folder).ok()
    os.chmod(folder + "/" + long, 0o644)
    tlmc("build", q, "-o", long, cwd=folder).ok()                # a program is one, whatever was there
    run(["./" + long, "--help"], cwd=folder).ok()


def only_its_own(folder):
    """Emitted files replace each other and nothing else; a refusal comes before the first file is written."""
    q, out = example("quickstart_mlp"), folder + "/out"
    for options in ([], ["--single-file"], ["--device", "cuda"], ["--device", "cuda", "--single-file"]):
        tlmc("emit", q, "-o", out, *options).ok()
        names = os.listdir(out)
        tlmc("emit", q, "-o", out, *options).ok()                # all of them carry the mark
        for name in names:
            open(f"{out}/{name}", "w").write("find_package(tlmc REQUIRED)\n# mine\n")
            others = {n: os.stat(f"{out}/{n}").st_mtime_ns for n in names}
            tlmc("emit", q, "-o", out, *options).fails(2, f"'{out}/{name}' was not written by tlmc and is not replaced")
            equal(open(f"{out}/{name}").read(), "find_package(tlmc REQUIRED)\n# mine\n", name)
            equal({n: os.stat(f"{out}/{n}").st_mtime_ns for n in names}, others, "files that were written")
            os.remove(f"{out}/{name}")
            tlmc("emit", q, "-o", out, *options).ok()
        shutil.rmtree(out)
    open(folder + "/CMakeLists.txt", "w").write("project(mine C)\n")
    tlmc("emit", q, cwd=folder).fails(2, "'./CMakeLists.txt' was not written by tlmc")
    equal(os.listdir(folder), ["CMakeLists.txt"], "left files")
    os.makedirs(out + "/quickstart_mlp.h")
    tlmc("emit", q, "-o", out).fails(2, f"cannot write '{out}/quickstart_mlp.h': Is a directory")
    os.rmdir(out + "/quickstart_mlp.h")
    os.symlink("nowhere", out + "/quickstart_mlp.h")
    tlmc("emit", q, "-o", out).fails(2, f"'{out}/quickstart_mlp.h' was not written by tlmc")
    os.remove(out + "/quickstart_mlp.h")
    os.mkfifo(out + "/quickstart_mlp.h")
    tlmc("emit", q, "-o", out).fails(2, f"'{out}/quickstart_mlp.h' was not written by tlmc")
    os.remove(out + "/quickstart_mlp.h")
    open(out + "/quickstart_mlp_main.c", "w").write("int main(void) { return 0; }\n")
    for argv in (["build", "-o", folder + "/p"], ["run"]):
        tlmc(*argv, q, "--keep", out).fails(2, f"'{out}/quickstart_mlp_main.c' was not written by tlmc")
    equal(os.listdir(out), ["quickstart_mlp_main.c"], "kept files")
    check("default: the current one" in tlmc("emit", "--help").ok().out, "the help says where emit writes")


def depfiles(folder):
    """A depfile replaces a depfile of tlmc's and nothing else: no model, no module, none of what is emitted; it is found out before all."""
    shutil.copy(example("quickstart_mlp"), folder + "/m.tlm")
    open(folder + "/a.tlm", "w").write("block twice(x: f32[2]) { return x * 2.0; }\n")
    open(folder + "/b.tlm", "w").write('model b;\nimport "a.tlm";\ninput x: f32[2];\noutput y = twice(x);\n')
    open(folder + "/my.capsules", "w").write("provider mine { in_build yes; licence MIT; }\n")
    os.link(folder + "/m.tlm", folder + "/hard.tlm")
    os.symlink("a.tlm", folder + "/soft.tlm")
    os.mkdir(folder + "/d")
    head = "/o/m.c: \\\n  /m.tlm"
    foreign = {"empty": "", "text": "# mine\n", "make": "/o/m.c: \\\n  /m.tlm\n\tcc m.c\n", "one": head, "more": head + " \\\n", "gcc": "m.o: m.c m.h\n",
               "first": "/o/m.c: \\\n", "object": "/o/m.o: \\\n  /m.c\n"}
    for name, text in foreign.items():
        open(f"{folder}/{name}", "w").write(text)
    before = {n: open(f"{folder}/{n}").read() for n in os.listdir(folder) if n != "d"}
    read, emitted, not_ours = "it is one of the files that were read", "it is one of the files that are emitted", "was not written by tlmc"
    cases = [("m.tlm", "m.tlm", read), ("m.tlm", "./d/../m.tlm", read), ("m.tlm", "hard.tlm", read), ("b.tlm", "a.tlm", read), ("b.tlm", "soft.tlm", read),
             ("m.tlm", "my.capsules", read), ("m.tlm", "a.tlm", not_ours), ("m.tlm", "d", "Is a directory"), ("m.tlm", "/dev/null", not_ours)]
    cases += [("m.tlm", f"{out}/quickstart_mlp{end}", emitted) for out in ("o", "./o", folder + "/d/../o", "o/../d/../o") for end in (".c", "_main.c", ".plan.json")]
    cases += [("m.tlm", name, not_ours) for name in foreign]
    cases += [("m.tlm", "n/" * 2000 + "../" * 2000 + "o/quickstart_mlp.c", emitted), ("m.tlm", "n/" * 60000 + "m.d", "File name too long")]
    for model, depfile, why in cases:
        r = tlmc("emit", model, "--capsules", "my.capsules", "--depfile", depfile, "-o", "o", cwd=folder).fails(2, f"'{depfile}'", why)
        equal((r.out, r.err.count("\n")), ("", 1), f"{depfile}: what is printed")
        check(not os.path.exists(folder + "/o"), f"{depfile}: something was written")
        equal({n: open(f"{folder}/{n}").read() for n in os.listdir(folder) if n != "d"}, before, f"{depfile}: files")
    for depfile in ("new.d", "o/new.d"):
        for model in ("b.tlm", "m.tlm", "m.tlm"):                # its own is replaced
            tlmc("emit", model, "--depfile", depfile, "-o", "o", cwd=folder).ok()
            check(open(f"{folder}/{depfile}").read().endswith(f"/{model if model[0] == 'm' else 'a.tlm'}\n"), f"{depfile} of {model}")
    tlmc("emit", "m.tlm", "--depfile", "o/quickstart_mlp.c", "-o", "o/../o", cwd=folder).fails(2, emitted)


def interrupted(folder, number, argv, seen):
    """Sends a signal once `seen` is there: the exit status is the signal's, and nothing is left."""
    temporary, pid = folder + "/tmp", folder + "/pid"
    os.makedirs(temporary)
    p = subprocess.Popen([TLMC, *argv], cwd=folder, env={**os.environ, "TMPDIR": temporary, "PIDFILE": pid}, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, preexec_fn=lambda: [signal.signal(n, signal.SIG_DFL) for n in (2, 15, 1, 3)])
    try:
        for _ in range(6000):
            if os.path.exists(seen.replace("PID", pid)) or p.poll() is not None:
                break
            time.sleep(0.01)
        check(p.poll() is None and os.listdir(temporary), f"{argv} ended before it was stopped: {p.stderr.read() if p.poll() else ''}")
        p.send_signal(number)
        out, err = p.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        raise Failure(f"{argv}: it, or a child, goes on after the signal")
    finally:
        p.kill()
    equal(p.returncode, -number, f"{argv}: the exit status")
    equal((out, err), (b"", b""), f"{argv}: what is printed")
    equal(os.listdir(temporary), [], f"{argv}: what is left in TMPDIR")
    child = int(open(pid).read())
    for _ in range(100):
        if not os.path.exists(f"/proc/{child}"):
            break
        time.sleep(0.05)
    check(not os.path.exists(f"/proc/{child}"), f"{argv}: a child is left")
    os.rmdir(temporary)
    os.remove(pid)


def signals(folder):
    """INT and TERM while a compiler runs, and while the program runs."""
    q = example("quickstart_mlp")
    cc = folder + "/cc.sh"                                       # never ends by itself
    open(cc, "w").write("#!/bin/sh\necho $$ >$PIDFILE.$$ && mv $PIDFILE.$$ $PIDFILE\nexec sleep 100\n")
    os.chmod(cc, 0o755)
    for number in (signal.SIGINT, signal.SIGTERM):
        interrupted(folder, number, ["build", q, "-o", folder + "/p", "--cc", cc], "PID")
        interrupted(folder, number, ["run", q, "--cc", cc], "PID")
        equal(os.listdir(folder), ["cc.sh"], "left files")
    # a compiler that makes a program of the shell's: it runs until it is stopped
    open(cc, "w").write("#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\ncat >$2 <<'E'\n#!/bin/sh\n"
                        "echo $$ >$PIDFILE.$$ && mv $PIDFILE.$$ $PIDFILE\nexec sleep 100\nE\nchmod +x $2\n")
    for number in (signal.SIGINT, signal.SIGTERM):
        interrupted(folder, number, ["run", q, "--cc", cc], "PID")
    tlmc("build", q, "-o", folder + "/p", "--cc", cc, env={"TMPDIR": folder}).ok()
    equal(sorted(os.listdir(folder)), ["cc.sh", "p"], "left files")


def temporaries(folder):
    """A signal that comes while a file is not yet in its place waits until it is: nothing else is left."""
    if not sys.platform.startswith("linux"):
        skip("LD_PRELOAD is not known here")
    open(folder + "/kill.c", "w").write("#include <fcntl.h>\n#include <signal.h>\n#include <stdio.h>\nint rename(const char *a, const char *b)\n{\n"
                                        "    raise(SIGTERM);\n    return renameat(AT_FDCWD, a, AT_FDCWD, b);\n}\n")
    run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", "kill.so", "kill.c"], cwd=folder).ok()
    os.mkdir(folder + "/d")
    open(folder + "/d/m.tlm", "w").write("model m;input x:f32[2];\noutput y=relu( x );\n")
    sanitizers = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    for argv, left in ((["fmt", "-w", "d/m.tlm"], ["m.tlm"]), (["emit", "d/m.tlm", "-o", "d"], ["m.c", "m.tlm"])):
        tlmc(*argv, cwd=folder, env={"LD_PRELOAD": folder + "/kill.so", "ASAN_OPTIONS": sanitizers}).fails(-signal.SIGTERM)
        equal(sorted(os.listdir(folder + "/d")), left, f"{argv}: what is left")


def ignored_children(folder):
    """Who starts tlmc may ignore SIGCHLD, as some daemons do: builds and runs wait for their children all the same."""
    q, here = example("quickstart_mlp"), EXAMPLES + "/quickstart_mlp"
    for argv in (["build", q, "-o", folder + "/p"], ["build", q, "-o", folder + "/p", "--cc", "cc"], ["run", q, "--", "--steps", "1"]):
        p = subprocess.run([TLMC, *argv], cwd=here, capture_output=True, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        equal((p.returncode, p.stderr), (0, b""), f"{argv} where SIGCHLD is ignored")


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


main(sources, models, defines, usage, devices, verified_is_refused, outputs, programs, only_its_own, depfiles, signals,
     temporaries, ignored_children, shells, layout)
