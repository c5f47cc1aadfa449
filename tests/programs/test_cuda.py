"""Whole CUDA programs without a GPU, on the shim: losses, gradients, weights and outputs have the bits of the CPU's; so have
the oracle's text and its checkpoint; an index error is the CPU's."""
import os
import re

import cuda
import lib
from lib import SOURCE, check, equal, main, run


def oracle(folder):
    """The text of the quickstart's run, through the shell, is the CPU's; and so is its checkpoint."""
    cpu = lib.build(lib.example("quickstart_mlp"), os.path.join(folder, "quickstart"))
    program = cuda.quickstart_host(folder, "plain", None)
    where = os.path.join(lib.EXAMPLES, "quickstart_mlp")
    for options in (["--seed", "2026"], ["--seed", "0", "--steps", "20", "--no-graph"]):
        saved = [os.path.join(folder, "cpu.safetensors"), os.path.join(folder, "cuda.safetensors")]
        texts = [run([p, *options, "--save", s], cwd=where).ok().out for p, s in zip([cpu, program], saved)]
        equal(texts[1], texts[0].replace("cpu (profile checked_cpu)", "cuda (profile checked_cuda)"), f"text of {options}")
        cuda.same_bytes(*saved, f"checkpoint of {options}")
    check("mean_loss(after) = 0.003234" in run([program, "--seed", "2026"], cwd=where).ok().out, "the oracle's loss")


def index_error(folder):
    """An index out of range is found by the device and told as the CPU tells it; nothing is trained."""
    dims = next(dims for name, dims, *_ in cuda.MODELS if name == "gpt2")
    cuda.emit(lib.example("gpt2"), folder, "--device", "cuda", *dims)
    program = cuda.host_program(folder, "gpt2", "plain", None)
    cpu = lib.build(lib.example("gpt2"), os.path.join(folder, "gpt2_cpu"), *dims)
    ids = os.path.join(folder, "ids.npy")
    lib.write_npy(ids, "<i4", (1, 8), [1, 2, 3, 49, 50, 5, 6, 7])
    told = [run([p, "--infer", "--input", f"ids={ids}"]).fails(1, "index 50 at position 4", "out of range 0..49").err
            .split("cuda-host:")[0] for p in (cpu, program)]
    equal(told[1], told[0], "the message")


def memory_blocks(folder):
    """create refuses memory blocks as on the CPU, before it asks for the device; afterwards nothing is held there."""
    program = cuda.quickstart_host(folder, "plain", os.path.join(SOURCE, "tests/programs/create_refused.c"))
    equal(run([program], env={"TLM_HOST_LEAKS": "1"}).ok().out, "all refused\n", "what create refuses")


def vendor(folder):
    """Products by cuBLAS, of which the host has its own version: the order of a sum is free there, so numbers differ in
    the last places.  K is at most 64 in this model: 64 roundings of 2^-24 are 4e-6 of the largest term; training for
    three steps and Adam's division by the gradient's own size leave room for 100 times that."""
    name, dims = "digits_mlp", ["-D", "batch=4"]
    on_cpu = cuda.emit(lib.example(name), os.path.join(folder, "cpu"), *dims)
    on_cuda = cuda.emit(lib.example(name), os.path.join(folder, "cuda"), "--profile", "vendor_cuda", *dims)
    with open(os.path.join(on_cuda, name + ".c")) as f:
        check("tlm_cublas_matmul(" in f.read(), "the plan calls cuBLAS")
    want, got = os.path.join(folder, "want"), os.path.join(folder, "got")
    run([cuda.cpu_program(on_cpu, name), want, 3]).ok()
    program = cuda.host_program(on_cuda, name, "plain")
    for env in ({}, {"TLM_HOST_DEFER": "4"}):
        run([program, got, 3], env=env).ok()
        for (what, a), (other, b) in zip(cuda.numbers(want), cuda.numbers(got)):
            equal(other, what, "names")
            scale = max([abs(x) for x in a] + [1e-6])
            worst = max([abs(x - y) for x, y in zip(a, b)] + [0.0])
            check(worst <= 4e-4 * scale, f"{what}: {worst} of {scale}")
    run([program, got, 1], env={"TLM_CUDA_DETERMINISTIC_REDUCTIONS": "1"}).fails(3, "cublas.matmul", "--deterministic")


def same_training(folder, model, name, steps, *dims):
    """The bytes of a training run on the CPU and on the host layer; returns the folder of the CUDA program."""
    on_cpu = cuda.emit(model, os.path.join(folder, "cpu_" + name), *dims)
    on_cuda = cuda.emit(model, os.path.join(folder, "cuda_" + name), "--device", "cuda", *dims)
    want, got = os.path.join(folder, "want"), os.path.join(folder, "got")
    run([cuda.cpu_program(on_cpu, name), want, steps]).ok()
    run([cuda.host_program(on_cuda, name, "plain"), got, steps], env={"TLM_HOST_LEAKS": "1"}).ok()
    cuda.same_bytes(want, got, name)
    return on_cuda


def one_update(folder):
    """All parameters in one launch, whatever their optimizer groups: rates, decays and tensors of one group or several."""
    for model, dims, steps in ((os.path.join(SOURCE, "tests/golden/gen/groups.tlm"), [], 5), (lib.example("gpt2"), ["-D", "L=2"], 0)):
        name = os.path.basename(model)[:-len(".tlm")]
        if steps:
            on_cuda = same_training(folder, model, name, steps, *dims)
        else:
            on_cuda = cuda.emit(model, os.path.join(folder, "cuda_" + name), "--device", "cuda", *dims)
        with open(os.path.join(on_cuda, name + ".c")) as f:
            equal(re.findall(r"TLM_LAUNCH\(m, (run_\w*_update\w*)", f.read()), ["run_adamw_update"], f"updates of {name}")


def unlike_updates(folder):
    """One launch also for groups of unlike states, parameters of rank 0 and empty ones; one from a constant gradient is apart, and of many
    kinds 48 at once."""
    model = os.path.join(folder, "unlike.tlm")
    kinds = 100
    groups = "".join(f'group "h.{i}.*" {{ lr = {0.001 * (i + 1):.3f}; momentum = {0.9 if i % 3 == 0 else 0.0}; nesterov = {str(i % 6 == 0).lower()}; }}\n'
                     for i in range(kinds))
    with open(model, "w") as f:
        f.write(f"""model unlike;
input x: f32[4, 5];
block more(v: f32[4, 5]) -> f32[4, 5] {{
  param a: f32[] = normal();
  param w: f32[5] = normal();
  return v * a + w;
}}
param empty: f32[0, 4] = ones();
param unused: f32[3] = ones();
const k: f32[3] = [1.5, -0.25, 2.0];
param fixed: f32[3] = ones();
for i in 0..{kinds} {{
  x = tanh(more(x) as h[i]);
}}
loss reduce_mean(x) + reduce_sum(layer_norm(empty)) + reduce_sum(fixed * k);
train {{ optimizer sgd(lr = 0.1) {{ {groups} }} steps 3; }}
""")
    on_cuda = same_training(folder, model, "unlike", 3)
    with open(os.path.join(on_cuda, "unlike.c")) as f:
        equal(len(re.findall(r"TLM_LAUNCH\(m, run_sgd_update", f.read())), 4, "launches: 48, 48 and 5 kinds, and the constant gradient")


def bare_outputs(folder):
    """Outputs that no kernel writes: constants, inputs, parameters, states, one value under two names; axes of size 0."""
    model = os.path.join(folder, "bare.tlm")
    with open(model, "w") as f:
        f.write("""model bare;
const k: f32[2] = [1.5, 2.5];
const c: f32[] = 3.5;
input x: f32[2];
input e: f32[2, 0];
param w: f32[2] = normal();
param t: f32[0, 3] = normal();
state s: f32[2] = zeros();
update s = s + x;
y = x * w;
output k, c, x, w, e, s, y, z = y, v = reshape(y, [1, 2]), m = e @ t;
loss reduce_sum(y) + reduce_sum(e @ t);
train { optimizer sgd(lr = 0.1); steps 3; }
""")
    same_training(folder, model, "bare", 3)


def many_tensors(folder):
    """The norm of more tensors than one launch takes the addresses of, some of them empty, some of several chunks."""
    model = os.path.join(folder, "many.tlm")
    with open(model, "w") as f:
        f.write("""model many;
input x: f32[1];
total = reduce_sum(x);
block more(total: f32[], rows: dim, cols: dim) -> f32[] {
  param w: f32[rows, cols] = normal();
  return total + reduce_sum(w * w);
}
for i in 0..270 {
  total = more(total, i % 7, where(i % 90 == 1, 5000, 3)) as h[i];
}
output total;
loss total;
train { optimizer sgd(lr = 0.1); clip norm(0.5); steps 2; }
""")
    on_cuda = same_training(folder, model, "many", 2)
    with open(os.path.join(on_cuda, "many.c")) as f:
        equal(f.read().count("TLM_LAUNCH(m, run_global_norm_parts"), 2, "launches for the chunks of 270 tensors")


main(*cuda.model_tests("plain"), oracle, index_error, memory_blocks, vendor, one_update, unlike_updates, bare_outputs, many_tensors)
