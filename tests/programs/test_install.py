"""An installed tlmc: the CMake package with tlm_add_model, with and without CUDA, pkg-config; a user's module in a plan."""
import time

from prefix import *

QUICKSTART = example("quickstart_mlp")


def configure(source, build, *options, generator="Ninja"):
    return run(["cmake", "-G", generator, "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={installed()}", *options])


def project(folder, text, version="3.20"):
    open(folder + "/CMakeLists.txt", "w").write(f"cmake_minimum_required(VERSION {version})\nproject(user C)\n{text}")


def embed(folder):
    configure(EXAMPLES + "/embed", folder + "/b", "-DCMAKE_BUILD_TYPE=Release").ok()
    run(["cmake", "--build", folder + "/b"]).ok()
    out = run([folder + "/b/embed", EXAMPLES + "/embed/quickstart.safetensors"]).ok().out
    check("pred(0.25, -0.75) = 0.210239" in out, out)
    readme = open(EXAMPLES + "/embed/README.md").read()
    for line in out.splitlines():
        check("    " + line + "\n" in readme, f"the README does not show what is printed: {line}")
    run([folder + "/b/embed", EXAMPLES + "/embed/README.md"]).fails(1)


def threads(folder):
    """Programs of tlm_add_model and of an emitted CMakeLists.txt have threads, and no OpenMP; a product has the pool."""
    if not os.path.isdir("/proc/self/task"):
        skip("/proc shows no threads here")
    for form in ([], ["--single-file"]):
        tlmc("emit", QUICKSTART, *form, "-o", folder + "/out" + "".join(form)).ok()
    open(folder + "/pool.c", "w").write("""#include "tlm_pool.h"
static void set(void *x, size_t begin, size_t end)
{
    while (begin < end)
        ((int *)x)[begin++] = 1;
}
int main(void)
{
    static int x[99];
    int sum = 0;
    tlm_pool *pool;
    if (tlm_pool_new(&pool, 3, NULL) != TLM_OK)
        return 1;
    tlm_pool_run(pool, 99, 1, set, x);
    tlm_pool_free(pool);
    for (int i = 0; i < 99; i++)
        sum += x[i];
    return sum != 99;
}
""")
    project(folder, f"find_package(tlmc REQUIRED)\ntlm_add_model(added {QUICKSTART})\nadd_subdirectory(out)\n"
            "add_executable(pool pool.c)\ntarget_link_libraries(pool PRIVATE tlmc::tlm)\n")
    configure(folder, folder + "/b").ok()
    configure(folder + "/out--single-file", folder + "/s").ok()
    for build in ("/b", "/s"):
        run(["cmake", "--build", folder + build]).ok()
    run([folder + "/b/pool"]).ok()
    for program in ("/b/added", "/b/out/quickstart_mlp", "/s/quickstart_mlp"):
        for asked, wanted in ((["--threads", "3"], 3), (["--threads", "1"], 1), ([], len(os.sched_getaffinity(0)))):
            equal(running_threads([folder + program, *asked]), wanted, f"threads of {program} {asked}")
        check("omp" not in run(["ldd", folder + program]).ok().out, f"{program} links OpenMP")


def running_threads(argv):
    """The threads of a training without end, when its report begins: they are made with the model and stay."""
    p = subprocess.Popen([*argv, "--steps", "1000000000"], cwd=EXAMPLES + "/quickstart_mlp", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        equal(p.stdout.readline(), b"== quickstart_mlp: training ==\n", f"{argv}: first line")
        return len(os.listdir(f"/proc/{p.pid}/task"))
    finally:
        p.kill()
        p.communicate()


def cuda_refused(folder):
    """tlm_add_model builds no device code; it says what does."""
    for options, status in (("--device cuda", 1), ("--device=cuda", 1), ("-D hidden=4 --profile checked_cuda", 1),
                            ("--profile=vendor_cuda", 1), ("--device cpu", 0), ("--profile checked_cpu", 0), ("-D cuda=1", 0)):
        project(folder, f"find_package(tlmc REQUIRED)\ntlm_add_model(app {QUICKSTART} OPTIONS {options})\n")
        r = configure(folder, folder + "/b")
        if status == 0:
            r.ok()
        else:
            text = " ".join(r.fails(1).err.split())              # CMake breaks the lines of a message
            check("add_subdirectory" in text and "quickstart_mlp_model" in text and "--device cuda -o" in text, text)


def without_cuda(folder):
    """A project for the CPU needs no toolkit, whatever tlmc was built with; one that asks for CUDA is told what is missing."""
    native = "CUDA toolkit: none" not in tlmc("--version").out
    hidden = "-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON"
    project(folder, f"find_package(tlmc REQUIRED)\nmessage(STATUS \"cuda: ${{tlmc_cuda_FOUND}}\")\ntlm_add_model(app {QUICKSTART})\n")
    check(f"cuda: {'FALSE' if native else 'TRUE'}" in configure(folder, folder + "/b", hidden).ok().out, "tlmc_cuda_FOUND")
    run(["cmake", "--build", folder + "/b"]).ok()
    run([folder + "/b/app", "--help"]).ok()
    project(folder, "find_package(tlmc REQUIRED COMPONENTS cuda)\nadd_library(user INTERFACE)\ntarget_link_libraries(user INTERFACE tlmc::tlm_cuda)\n")
    configure(folder, folder + "/b2").ok()
    r = configure(folder, folder + "/b3", hidden)
    if native:
        check("programs for CUDA need the CUDA toolkit" in " ".join(r.fails(1).err.split()), r.err)
    else:
        r.ok()
    for i, (components, found) in enumerate((("COMPONENTS other", "0"), ("OPTIONAL_COMPONENTS cuda other", "1"))):
        project(folder, f"find_package(tlmc {components})\nmessage(STATUS \"found: ${{tlmc_FOUND}}\")\n")
        out = configure(folder, f"{folder}/c{i}", hidden).ok().out
        check(f"found: {found}\n" in out, f"{components}: {out}")


def built_again(folder):
    """A change of an import, of an import of an import, or of a module compiles the model again; nothing else does."""
    os.makedirs(folder + "/my lib")
    files = {"m.tlm": 'model m;\nimport "a.tlm";\ninput x: f32[2, 4];\noutput y = twice(x);\n',
             "my lib/a.tlm": 'import "b.tlm";\nblock twice(x: f32[2, 4]) { return weights(x) * 2.0; }\n',
             "my lib/b.tlm": "block weights(x: f32[2, 4]) { return softmax(x); }\n",
             "mine.capsules": "provider mine { in_build yes; licence MIT; }\n"}
    for name, text in files.items():
        open(f"{folder}/{name}", "w").write(text)
    project(folder, 'find_package(tlmc REQUIRED)\ntlm_add_model(app m.tlm CAPSULES mine.capsules OPTIONS -I "my lib")\n'
            "tlm_add_model(m m.tlm OPTIONS --capsules mine.capsules -I \"my lib\")\n")
    for generator in ("Ninja", "Unix Makefiles") if has("make") else ("Ninja",):
        b = folder + "/" + generator[:5]
        configure(folder, b, generator=generator).ok()

        def stamp():
            run(["cmake", "--build", b]).ok()
            return os.stat(b + "/tlm/app/m/m.c").st_mtime_ns

        last = stamp()
        equal(stamp(), last, f"{generator}: nothing changed")
        for name in files:
            open(f"{folder}/{name}", "a").write("# changed\n")
            now = stamp()
            check(now > last, f"{generator}: {name} changed and nothing was compiled")
            last = now
        equal(stamp(), last, f"{generator}: nothing changed since")


def depfile(folder):
    """--depfile: a rule that make and ninja read alike, absolute, escaped; refused where it cannot be written."""
    os.makedirs(folder + "/a $ #b")
    shutil.copy(QUICKSTART, folder + "/a $ #b/q.tlm")
    tlmc("emit", "a $ #b/q.tlm", "-o", "out", "--depfile", "q.d", cwd=folder).ok()
    real = os.path.realpath(folder)
    equal(open(folder + "/q.d").read(), f"{real}/out/quickstart_mlp.c: \\\n  {real}/a\\ $$\\ \\#b/q.tlm\n", "rule")
    tlmc("emit", QUICKSTART, "-o", folder + "/out", "--depfile", folder + "/none/q.d").fails(2, "none/q.d")
    tlmc("build", QUICKSTART, "--depfile", folder + "/q.d").fails(2, "unknown option")
    for i, name in enumerate((" ", "a:b", "c:", "\\ #$", "back\\slash", "a\\\\ b", "x\\ \\\\  y:z", "$(x) ${y}", "50%", "a=b", "~", "ü,[1]{2}")):
        rule_is_read(f"{folder}/{i}", name)
    os.makedirs(folder + "/refused")
    for name in ("a\nb", "a\tb", "a;b", "a|b", "a\\#b", "a\\:b", "b\\"):
        path = f"{folder}/refused/{name}"
        shutil.copy(QUICKSTART, path)
        r = tlmc("emit", path, "-o", folder + "/none", "--depfile", folder + "/none.d")
        r.fails(2, "no rule of --depfile can name '", f"/refused/{name}': it has ")
        check(not os.path.exists(folder + "/none") and not os.path.exists(folder + "/none.d"), f"{name!r}: something was written")
        tlmc("emit", path, "-o", folder + "/out").ok()           # without a rule it can have any name
    tlmc("emit", QUICKSTART, "-o", folder + "/a\nb", "--depfile", folder + "/none.d").fails(2, "a control character")


def rule_is_read(folder, name):
    """make and ninja, given the rule, make again when the model in folder `name` has changed, and only then; so does make with that target."""
    os.makedirs(f"{folder}/{name}")
    model, rule = f"{folder}/{name}/m.tlm", folder + "/q.d"
    shutil.copy(QUICKSTART, model)
    old = time.time() - 1000
    for made in ("out", name):
        tlmc("emit", model, "-o", f"{folder}/{made}", "--depfile", rule).ok()
        target = f"{folder}/{made}/quickstart_mlp.c"
        escaped = open(rule).read().split(": \\\n")[0]
        if has("make") and not ("=" in name or (made == name and "%" in name)):     # to make, a variable; a pattern
            open(folder + "/Makefile", "w").write(f"all: {escaped}\ninclude q.d\n{escaped}:\n\t@echo again\n")
            for when, wanted in ((old - 10, ""), (old + 10, "again\n")):
                os.utime(target, (old, old))
                os.utime(model, (when, when))
                got = run(["make", "-rR", "--no-print-directory", "-f", "Makefile"], cwd=folder).ok().out
                equal("again\n" if "again" in got else "", wanted, f"make, {made!r} of {name!r}")
        if has("ninja"):
            in_ninja = target.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")
            open(folder + "/build.ninja", "w").write(f"rule again\n  command = true\n  depfile = q.d\nbuild {in_ninja}: again\n")
            shutil.rmtree(folder + "/.ninja_log", ignore_errors=True)
            for when, wanted in ((old - 10, False), (old + 10, True)):
                os.utime(model, (when, when))
                os.utime(target, (old, old))
                why = run(["ninja", "-n", "-d", "explain"], cwd=folder).ok().err
                equal("older than most recent input" in why, wanted, f"ninja, {made!r} of {name!r}: {why}")
                check("depfile" not in why and "doesn't exist" not in why, why)


def names(folder):
    """Models called as libraries, and users' headers called as those of kernels: nobody gets the other's."""
    for name in ("m", "pthread", "test"):
        here = folder + "/" + name
        os.makedirs(here)
        open(here + f"/{name}.tlm", "w").write(open(QUICKSTART).read().replace("model quickstart_mlp;", f"model {name};"))
        tlmc("emit", f"{here}/{name}.tlm", "-o", here + "/out").ok()
        configure(here + "/out", here + "/b").ok()
        run(["cmake", "--build", here + "/b"]).ok()
        run([f"{here}/b/{name}", "--help"]).ok()
    headers = ("random.h", "index.h", "copy.h", "loss.h", "items.h", "reduce.h", "blocks.h", "matmul.h")
    here = folder + "/headers"
    os.makedirs(here + "/include")
    for header in headers:
        open(f"{here}/include/{header}", "w").write(f"#define USERS_{header[:-2]} 1\n")
    lines = "".join(f"#include <{h}>\n#ifndef USERS_{h[:-2]}\n#error another {h}\n#endif\n" for h in headers)
    open(here + "/app.c", "w").write('#include "quickstart_mlp.h"\n' + lines + "int main(void)\n{\n    return 0;\n}\n")
    for profile in ("checked_cpu", "reference_cpu"):
        for order in ("BEFORE", "AFTER"):
            project(here, f"find_package(tlmc REQUIRED)\nadd_executable(app app.c)\ntarget_include_directories(app {order} PRIVATE include)\n"
                    f"tlm_add_model(app {QUICKSTART} OPTIONS --profile {profile})\n")
            configure(here, here + "/b" + profile + order).ok()
            run(["cmake", "--build", here + "/b" + profile + order]).ok()
    flags = run(["pkg-config", "--cflags", "tlm"], env=environment()).ok().out.split()
    tlmc("emit", QUICKSTART, "-o", here + "/out").ok()
    run(["cc", "-std=c11", *flags, "-I" + here + "/out", "-I" + here + "/include", "-fsyntax-only", here + "/app.c"]).ok()
    plain = [h for h in os.listdir(installed() + "/include/tlm") if h != "kernels" and not h.startswith("tlm")]
    equal(plain, [], "installed headers without the prefix")


def pkg_config(folder):
    """The prefix was moved after the installation: nothing in the files names it."""
    flags = run(["pkg-config", "--cflags", "--libs", "tlm-kernels"], env=environment()).ok().out.split()
    check("-I" + installed() + "/include/tlm" in [os.path.normpath(f) if f[0] == "/" else f[:2] + os.path.normpath(f[2:]) for f in flags], flags)
    tlmc("emit", QUICKSTART, "-o", folder + "/out").ok()
    sources = [folder + "/out/quickstart_mlp.c", folder + "/out/quickstart_mlp_main.c"]
    run(["cc", "-std=c11", "-O2", "-o", folder + "/p", *sources, *flags]).ok()
    out = run([folder + "/p", "--seed", "2026"], cwd=EXAMPLES + "/quickstart_mlp").ok().out
    check("loss1=0.003234" in out, out)
    for root, _, files in os.walk(installed()):
        for name in files:
            text = open(os.path.join(root, name), "rb").read() if name.endswith((".pc", ".cmake", ".h", ".def", ".cuh")) else b""
            check(b"tlmc-prefix-" not in text and SOURCE.encode() not in text, f"{name} names a folder of this machine")


def modules(folder):
    """A user's module in a plan; what is wrong in one is refused where it stands."""
    here = EXAMPLES + "/own_kernel"
    capsules = ["--capsules", here + "/my_kernels.capsules"]
    plan = tlmc("plan", example("own_kernel"), *capsules).ok().out
    check("softmax: my_kernels.softmax\n  provider=my-kernels trust=checked vjp=graph-vjp\n" in plan, plan)
    contracts = tlmc("plan", example("own_kernel"), *capsules, "--contracts").ok().out
    block = contracts[contracts.index("softmax: my_kernels.softmax"):]
    for claim in ("; claims the guard rank <= 8\n", "; claims tests in my_softmax_test.c (not run by tlmc)\n", "; cites gradients/softmax, a test of tlmc\n"):
        check(claim in block, f"no {claim!r} in\n{block}")
    check("covered by" not in block and "guarded by" not in block, block)
    check("; covered by test ops/mul/native_c\n" in contracts[:contracts.index("softmax: my_kernels.softmax")], "ours are tested by us")
    plain = tlmc("plan", example("own_kernel")).ok().out
    check("native_c.softmax" in plain, "without --capsules the plan takes native_c")
    bad = open(here + "/my_kernels.capsules").read()
    shutil.copy(here + "/my_softmax_test.c", folder)
    for old, new, message in (("op softmax", "op sofmax", "E09"), ("trust checked", "trust chekced", "E09"), ("op softmax;", "op softmax; op softmax;", "E09"),
                              ("notes", "notse", "E0902"), ('tests "my_softmax_test.c"', 'tests "none.c"', "E0904")):
        open(folder + "/my_kernels.capsules", "w").write(bad.replace(old, new, 1))
        tlmc("plan", example("own_kernel"), "--capsules", folder + "/my_kernels.capsules").fails(1, message, "my_kernels.capsules:")
    open(folder + "/twice.capsules", "w").write(bad + bad[bad.index("capsule my_kernels"):])
    tlmc("plan", example("own_kernel"), "--capsules", folder + "/twice.capsules").fails(1, "E0903")


need_tools()
main(embed, threads, cuda_refused, without_cuda, built_again, depfile, names, pkg_config, modules)
