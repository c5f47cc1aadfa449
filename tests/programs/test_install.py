"""An installed tlmc: the CMake package with tlm_add_model, pkg-config, the embed example; a user's kernel in a plan and a program."""
from lib import *

BUILD = os.environ["TLMC_BUILD"]


def installed(folder):
    prefix = folder + "/prefix"
    run(["cmake", "--install", BUILD, "--prefix", prefix]).ok()
    return prefix


def embed(folder):
    prefix = installed(folder)
    run(["cmake", "-G", "Ninja", "-S", EXAMPLES + "/embed", "-B", folder + "/b", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release"]).ok()
    run(["cmake", "--build", folder + "/b"]).ok()
    out = run([folder + "/b/embed", EXAMPLES + "/embed/quickstart.safetensors"]).ok().out
    check("pred(0.25, -0.75) = 0.210239" in out, out)
    readme = open(EXAMPLES + "/embed/README.md").read()
    for line in out.splitlines():
        check("    " + line + "\n" in readme, f"the README does not show what is printed: {line}")
    run([folder + "/b/embed", EXAMPLES + "/embed/README.md"]).fails(1)


def cuda_refused(folder):
    """tlm_add_model builds no device code; it says what does."""
    prefix = installed(folder)
    for options, status in (("--device cuda", 1), ("--device=cuda", 1), ("-D hidden=4 --profile checked_cuda", 1),
                            ("--profile=vendor_cuda", 1), ("--device cpu", 0), ("--profile checked_cpu", 0), ("-D cuda=1", 0)):
        open(folder + "/CMakeLists.txt", "w").write(f"""cmake_minimum_required(VERSION 3.20)
project(refused C)
find_package(tlmc REQUIRED)
tlm_add_model(app {example("quickstart_mlp")} OPTIONS {options})
""")
        r = run(["cmake", "-G", "Ninja", "-S", folder, "-B", folder + "/b", f"-DCMAKE_PREFIX_PATH={prefix}"])
        if status == 0:
            r.ok()
        else:
            text = " ".join(r.fails(1).err.split())              # CMake breaks the lines of a message
            check("add_subdirectory" in text and "quickstart_mlp_model" in text and "--device cuda -o" in text, text)


def pkg_config(folder):
    if not has("pkg-config"):
        skip("pkg-config is not installed")
    prefix = installed(folder)
    found = [os.path.join(root, "tlm.pc") for root, _, files in os.walk(prefix) if "tlm.pc" in files]
    check(found, "no tlm.pc is installed")
    env = {"PKG_CONFIG_PATH": os.path.dirname(found[0])}
    flags = run(["pkg-config", "--define-variable=prefix=" + prefix, "--cflags", "--libs", "tlm"], env=env).ok().out.split()
    tlmc("emit", example("quickstart_mlp"), "-o", folder + "/out").ok()
    sources = [folder + "/out/quickstart_mlp.c", folder + "/out/quickstart_mlp_main.c"]
    run(["cc", "-std=c11", "-O2", "-o", folder + "/p", *sources, *flags]).ok()
    out = run([folder + "/p", "--seed", "2026"], cwd=EXAMPLES + "/quickstart_mlp").ok().out
    check("loss1=0.003234" in out, out)


def own_kernel(folder):
    here = EXAMPLES + "/own_kernel"
    capsules = ["--capsules", here + "/my_kernels.capsules"]
    plan = tlmc("plan", example("own_kernel"), *capsules).ok().out
    check("softmax: my_kernels.softmax\n  provider=my-kernels trust=checked vjp=graph-vjp\n" in plan, plan)
    tlmc("emit", example("own_kernel"), *capsules, "-o", folder, "--single-file").ok()
    run(["cc", "-std=c11", "-O2", "-I" + folder, "-I" + here, "-I" + SOURCE + "/runtime", "-o", folder + "/p",
         folder + "/own_kernel.c", folder + "/own_kernel_main.c", here + "/my_softmax.c", "-lm"]).ok()
    write_npy(folder + "/s.npy", "<f4", (2, 4), [1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0])
    run([folder + "/p", "--infer", "--input", f"scores={folder}/s.npy", "--output", f"weights={folder}/w.npy"]).ok()
    shape, w = read_npy(folder + "/w.npy")
    equal(shape, (2, 4), "shape")
    equal(w[4:], [0.25] * 4, "second row")
    check(abs(sum(w[:4]) - 1.0) < 1e-6 and w[3] > w[2] > w[1] > w[0], f"first row {w[:4]}")
    printed = run([folder + "/p", "--infer", "--input", f"scores={here}/scores.npy"]).ok().out.split("\n")
    readme = open(here + "/README.md").read()
    check(all(line in readme for line in printed), f"the README promises another output than {printed}")
    plain = tlmc("plan", example("own_kernel")).ok().out
    check("native_c.softmax" in plain, "without --capsules the plan takes native_c")
    bad = open(here + "/my_kernels.capsules").read()
    for old, new, message in (("op softmax", "op sofmax", "E09"), ("trust checked", "trust chekced", "E09"), ("op softmax;", "op softmax; op softmax;", "E09"),
                              ("notes", "notse", "E0902"), ('tests "my_softmax.c"', 'tests "none.c"', "E0904")):
        open(folder + "/my_kernels.capsules", "w").write(bad.replace(old, new, 1))
        shutil.copy(here + "/my_softmax.c", folder)
        tlmc("plan", example("own_kernel"), "--capsules", folder + "/my_kernels.capsules").fails(1, message, "my_kernels.capsules:")
    open(folder + "/twice.capsules", "w").write(bad + bad[bad.index("capsule my_kernels"):])
    tlmc("plan", example("own_kernel"), "--capsules", folder + "/twice.capsules").fails(1, "E0903")


main(embed, cuda_refused, pkg_config, own_kernel)
