"""The commands and programs of the pages, as they stand there, with an installed tlmc: a capsule of one's own, a model in a product."""
from prefix import *

OWN = EXAMPLES + "/own_kernel"


def copied(example_name, folder):
    here = folder + "/here"
    shutil.copytree(f"{EXAMPLES}/{example_name}", here)
    return here


def weights_of(readme):
    begin = readme.index("weights: f32[2, 4]")
    return "\n".join(line.strip() for line in readme[begin:].split("\n")[:3])


def stripped(out):
    return "\n".join(line.strip() for line in out.split("\n"))


def own_kernel_readme(folder):
    """The README of the example, line by line."""
    readme = open(OWN + "/README.md").read()
    out = shell(indented(readme)[0], copied("own_kernel", folder))
    check("my_softmax: ok" in out, out)
    check(weights_of(readme) in stripped(out), f"the README promises another output than\n{out}")
    check("softmax: my_kernels.softmax\n  provider=my-kernels trust=checked vjp=graph-vjp\n" in out, out)


def cited_test_can_fail(folder):
    here = copied("own_kernel", folder)
    source = open(here + "/my_softmax.c").read()
    for old, new in (("y[i] /= sum", "y[i] /= 1.0001f * sum"), ("expf(x[i] - most)", "expf(x[i])"), ("TLM_KERNEL_VERSION ||", "1000 ||")):
        check(old in source, f"my_softmax.c lacks {old}")
        open(here + "/my_softmax.c", "w").write(source.replace(old, new))
        shell("cc -std=c11 $(pkg-config --cflags tlm) -o my_softmax_test my_softmax_test.c my_softmax.c -lm", here)
        run([here + "/my_softmax_test"]).fails(1, "FAILED")


def adding_a_capsule(folder):
    """The page: files that it shows are the example's; build, CMake, emitted CMakeLists.txt and single files give one output."""
    here = copied("own_kernel", folder)
    page = section("docs/adding-a-capsule.md", "A kernel of your own")
    capsules = indented(page)[1]
    check(capsules in open(here + "/my_kernels.capsules").read(), "the page shows another my_kernels.capsules")
    readme = weights_of(open(OWN + "/README.md").read())
    blocks = fenced(page, "sh")
    equal(len(blocks), 4, "blocks of commands")
    shell(blocks[0], here)
    for block in blocks[1:]:
        check(readme in stripped(shell(block, here)), f"another output of\n{block}")
    r = run(["cmake", "-S", here + "/out", "-B", here + "/out/other"], env=environment())
    check("OWN_KERNEL_KERNELS is not set" in " ".join(r.fails(1).err.split()), r.err)
    project = here + "/project"                                 # the module in a folder of its own
    os.makedirs(project + "/npu")
    for name in ("my_kernels.capsules", "my_softmax.c", "my_softmax.h", "my_softmax_test.c"):
        shutil.copy(f"{OWN}/{name}", project + "/npu")
    shutil.copy(OWN + "/own_kernel.tlm", project)
    text = fenced(page, "cmake")[0].replace("my_softmax.c", "npu/my_softmax.c").replace("my_kernels.capsules", "npu/my_kernels.capsules")
    open(project + "/CMakeLists.txt", "w").write("cmake_minimum_required(VERSION 3.20)\nproject(own C)\nfind_package(tlmc REQUIRED)\n" + text)
    shell("cmake -S . -B b && cmake --build b", project)
    check(readme in stripped(run([project + "/b/own_kernel", "--infer", "--input", f"scores={OWN}/scores.npy"]).ok().out), "the program of CMake")
    # from elsewhere: the folder is that of the module
    out = tlmc("run", here + "/own_kernel.tlm", "--capsules", here + "/my_kernels.capsules", "--", "--infer", "--input", f"scores={OWN}/scores.npy",
               cwd=folder, env={"TMPDIR": folder}).ok().out
    check(readme in stripped(out), out)
    equal([n for n in os.listdir(folder) if n.startswith("tlmc-")], [], "temporary folders that stay")
    os.remove(here + "/libmy_kernels.a")
    tlmc("build", here + "/own_kernel.tlm", "--capsules", here + "/my_kernels.capsules", "-o", folder + "/p").fails(2, "my_kernels")


def runtime_api(folder):
    """The page's programs: by hand, by CMake, from a single file, and without libtlm."""
    here = copied("quickstart_mlp", folder)
    page = section("docs/runtime-api.md", "A whole program")
    app, alone = fenced(page, "c")
    open(here + "/app.c", "w").write(app)
    open(here + "/alone.c", "w").write(alone)
    train, by_hand, single, without = fenced(page, "sh")
    shell(train, here)
    for block in (by_hand, single):
        check(shell(block, here).endswith("pred = 0.210239\n"), f"output of\n{block}")
    open(here + "/CMakeLists.txt", "w").write(fenced(page, "cmake")[0])
    shell("cmake -S . -B b && cmake --build b", here)
    equal(run([here + "/b/app"], cwd=here).ok().out, "pred = 0.210239\n", "the program of CMake")
    image = app.replace("        memcpy(", '        fwrite(o->weights, 1, QUICKSTART_MLP_WEIGHTS_BYTES, fopen("quickstart.weights", "wb"));\n        memcpy(', 1)
    open(here + "/app.c", "w").write(image)
    shell(single, here)
    shell(without, here)
    equal(run([here + "/alone"], cwd=here).ok().out, "pred = 0.210239\n", "the program without libtlm")
    open(here + "/app.c", "w").write(app)
    for block in (by_hand, without):                            # no warnings
        shell(block.replace("-O2", "-O2 -Wall -Wextra -Werror"), here)
    os.remove(here + "/quickstart.safetensors")
    run([here + "/app"], cwd=here).fails(1, "a file cannot be read or written", "quickstart.safetensors")


def install(folder):
    """The README's exports find the command, the CMake package and both pkg-config files."""
    exports = indented(section("README.md", "Install"))[1]
    exports = exports.replace("lib/pkgconfig", os.path.relpath(pc_folder(), installed()))          # lib64 and the like
    open(folder + "/CMakeLists.txt", "w").write("cmake_minimum_required(VERSION 3.20)\nproject(user C)\nfind_package(tlmc REQUIRED)\n")
    out = run(["sh", "-e", "-c", exports + "command -v tlmc; pkg-config --modversion tlm tlm-kernels; cmake -S . -B b"], cwd=folder,
              env={"HOME": os.path.dirname(installed()), "PKG_CONFIG_PATH": "", "CMAKE_PREFIX_PATH": ""}).ok().out
    check(out.startswith(installed() + "/bin/tlmc\n0.1.0\n0.1.0\n"), out)


need_tools()
main(install, own_kernel_readme, cited_test_can_fail, adding_a_capsule, runtime_api)
