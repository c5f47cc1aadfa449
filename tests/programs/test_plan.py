"""The report of tlmc plan and --show-backend: format, order, folds, devices; JSON and DOT that other programs read."""
import re

from lib import *

CHAPTER = ["reshape", "permute", "matmul", "broadcast", "add", "relu", "mse_loss"]


def forward_ops(text):
    """Names of the op blocks ("op: capsule"), each once, in order."""
    names = []
    for line in text.splitlines():
        head = line.strip().split(":")[0]
        if ":" in line and not line.startswith("  ") and " " not in head and "=" not in head:
            names.append(head)
    return names


def chapter_report(folder):
    r = tlmc("plan", example("quickstart_mlp"), "--device", "cuda").ok()
    ops = forward_ops(r.out)
    at = [ops.index(op) for op in CHAPTER]
    equal(at, sorted(at), f"order of {CHAPTER} in {ops}")
    for op in CHAPTER:
        check(f"{op}: native_cuda.{op}" in r.out, f"no native_cuda capsule for {op}")
    check("matmul: native_cuda.matmul\n  provider=native-cuda trust=checked vjp=backend-vjp\n" in r.out, "block of matmul")
    check("numeric=[round=nearest-even,subnormal=gradual-underflow,contract=fused,reduce=" in r.out, "numeric policy")
    check("folded into matmul, transpose_b" in r.out and "view, no code" in r.out, "folds are said")
    check("not accepted" not in r.out + r.err, "every capsule has code")
    check("trusted external boundary: none" in r.out, "boundary line")


def vendor_report(folder):
    r = tlmc("plan", example("quickstart_mlp"), "--profile", "vendor_cuda", "--explain")
    check("provider=cublas" in r.out and "trusted external boundary: " in r.out and "boundary: none" not in r.out, r.out[:3000])
    r = tlmc("plan", example("quickstart_mlp"), "--profile", "vendor_cuda", "--contracts").ok()
    check("    notes: float32 throughout: CUBLAS_DEFAULT_MATH, TF32 off" in r.out, "the math mode of cuBLAS")
    r = tlmc("plan", example("quickstart_mlp"), "--device", "cuda", "--explain")
    check("cublas.matmul refused: trust-not-admitted(trusted-external)" in r.out, "refusal of cublas")


def attention_in_place(folder):
    """The products of attention read keys and values through their transpose flags: of each head nothing is copied but the head itself."""
    heads = "[16,4,64,16]"
    for profile in ("checked_cpu", "checked_cuda", "vendor_cuda"):
        steps = tlmc("plan", example("char_gpt"), "--profile", profile, "--steps").out
        train = steps.split("steps of infer train")[1].split("steps of ")[0]
        copies = [line for line in train.splitlines() if " permute " in line and "folded" not in line]
        layers, kinds = 2, 8  # a layer: q, k, v, the output, and the gradients of each
        equal(len(copies), layers * kinds, f"copies of {profile}:\n" + "\n".join(copies))
        check(all(heads in line for line in copies), f"{profile}: something else than heads is moved")
        check(f"{heads}@" in train and "transpose_b" in train, train[:500])


def shared_launch(folder):
    """Of calls in one launch --steps names every capsule, and --explain what was refused for each."""
    module = os.path.join(folder, "mine.capsules")
    with open(module, "w") as f:
        for op in ("layer_norm_vjp", "layer_norm_vjp_weight"):
            f.write(f"""capsule mine.{op} {{ op {op}; provider native-cuda; device cuda; trust trusted-external; vjp none; shape guard "rank <= 8";
  layout guard "flat row-major device storage"; value tests "ops/{op}/native_cuda";
  numeric round=nearest-even subnormal=gradual-underflow contract=fused reduce=fixed-tree; arithmetic {op}.tree64.v1; abi template;
  symbol tlmk_f32_{op}; header tlmk_cuda.h; }}
""")
    steps = tlmc("plan", example("char_gpt"), "--device", "cuda", "--capsules", module, "--steps", "--explain").ok().out
    line = next(line for line in steps.splitlines() if "call(layer_norm_vjp,layer_norm_vjp_weight)" in line)
    check("native_cuda.layer_norm_vjp checked, native_cuda.layer_norm_vjp_weight checked " in line, line)
    after = steps.split(line)[1].splitlines()[1:3]
    check(all(text.startswith(f"     mine.{op} refused: ") for text, op in zip(after, ("layer_norm_vjp", "layer_norm_vjp_weight"))), str(after))


def each_op_once(folder):
    r = tlmc("plan", example("quickstart_mlp")).ok()
    heads = [line for line in r.out.splitlines() if ": native_c." in line and not line.startswith(" ")]
    equal(len(heads), len(set(heads)), "blocks are repeated")
    for word in ("checked_cpu", "device=cpu", "adam_update", "lower bound"):
        check(word in r.out, f"the report lacks {word!r}")
    program = build(example("quickstart_mlp"), folder + "/q")
    shown = run([program, "--steps", "0", "--show-backend"], cwd=EXAMPLES + "/quickstart_mlp").ok().out
    for line in heads:
        check(line in shown, f"--show-backend lacks {line!r}")
    memory = run([program, "--steps", "0", "--show-memory"], cwd=EXAMPLES + "/quickstart_mlp").ok().out
    check("lower bound" in memory, "--show-memory lacks the lower bound")


def contracts_and_steps(folder):
    r = tlmc("plan", example("quickstart_mlp"), "--contracts", "--steps", "--explain").ok()
    for word in ("shape:", "layout:", "value:", "vjp:", "matmul.chain512.v1"):
        check(word in r.out, f"--contracts lacks {word!r}")


def other_formats(folder):
    for name in ("quickstart_mlp", "digits_mlp", "char_gpt"):
        plan = json.loads(tlmc("plan", example(name), "--format", "json").ok().out)
        check(isinstance(plan, dict) and plan, "JSON plan")
        dot = tlmc("plan", example(name), "--format", "dot").ok().out
        check(dot.startswith("digraph") and dot.count("{") == dot.count("}"), "DOT plan")
        if has("dot"):
            run(["dot", "-Tsvg", "-o", folder + "/x.svg"], stdin=dot.encode()).ok()


def lists(folder):
    text = tlmc("profiles").ok().out
    for name in ("checked_cpu", "reference_cpu", "openblas_cpu", "checked_cuda", "vendor_cuda", "libtorch_forward_cuda", "libtorch_forward_cpu"):
        check(name in text, f"no profile {name}")
    text = tlmc("capsules", "--profile", "checked_cuda").ok().out
    check("native_c.relu" in text and "refused: " in text and "admitted" in text, "capsules with reasons")
    text = tlmc("ops").ok().out
    check("softmax" in text and "bernoulli_mask" in text, "ops")
    tlmc("ops", "conv").fails(1, "planned")
    tlmc("ops", "frobnicate").fails(1, "no op")


def refusals_are_short(folder):
    """One line an op and at most 20; --explain lists every failure."""
    r = tlmc("plan", example("gpt2"), "--profile", "verified_cpu")
    r.fails(3, "and 11 more; tlmc plan --explain lists them")
    for text, begin in ((r.out, "\nnot accepted\n"), (r.err, "of profile 'verified_cpu'\n")):
        lines = text.split(begin)[1].splitlines()
        equal(len(lines), 21, "lines")
        check("matmul: native_c.matmul: trust-not-admitted(checked), and 4 more" in "\n".join(lines), lines)
    out = tlmc("plan", example("gpt2"), "--profile", "verified_cpu", "--explain").out
    check("matmul: native_c.matmul: vjp obligation covered by test gradients/matmul" in out and "lists them" not in out, "--explain")


def steps_agree(folder):
    """NAME.c numbers its steps as the plan does, and says "in place" where the plan does."""
    for device in ("cpu", "cuda"):
        tlmc("emit", example("char_gpt"), "--device", device, "-o", folder).ok()
        code = re.sub(r"\s+", " ", open(folder + "/char_gpt.c").read())
        comments = re.findall(r"/\* (s\d+ n\d+(?:\.\.n\d+)?) (.*?) \*/", code)
        plan = tlmc("plan", example("char_gpt"), "--device", device, "--steps").ok().out
        lines = re.findall(r"^  (s\d+ n\d+(?:\.\.n\d+)?) (.*)$", plan, re.M)
        check(len(lines) > 100, "steps of the plan")
        said = [sorted((head, text.count(" in place")) for head, text in steps) for steps in (comments, lines)]
        equal(said[0], said[1], f"steps and what they overwrite, {device}")


def same_plan_twice(folder):
    for options in ([], ["--format", "json"], ["--steps"]):
        a, b = (tlmc("plan", example("char_gpt"), *options).ok().out for _ in range(2))
        check(a == b, f"two plans differ ({options})")


def beyond_a_launch(folder):
    """Sizes that fit uint32 and no launch: refused by the plan, with both numbers; where another capsule can, it is taken."""
    def plan(body, *options):
        path = folder + "/m.tlm"
        open(path, "w").write("model m;\n" + body)
        return tlmc("plan", path, "--explain", *options)

    long_axis = "input x: f32[4294967295];\noutput y = reduce_max(x);"
    plan(long_axis, "--device", "cuda").fails(3, "native_cuda.reduce_max refused: admit(an axis of 4294967295 exceeds 4294963199)")
    plan(long_axis.replace("4294967295", "4294963199"), "--device", "cuda").ok()
    plan("input x: f32[65535, 65537];\noutput y = reduce_max(x);", "--device", "cuda").fails(3, "4294967295 elements exceed 4294963199")
    plan(long_axis).ok()
    batch = "input x: f32[%d, 1, 1];\ninput z: f32[%d, 1, 1];\noutput y = x @ z;"
    plan(batch % (2147483648, 2147483648), "--device", "cuda").fails(3, "native_cuda.matmul refused: admit(a batch of 2147483648 exceeds 2147483647)")
    plan(batch % (2147483647, 2147483647), "--device", "cuda").ok()
    rows = "input i: i32[%d];\nparam t: f32[10] = normal();\ny = reduce_sum(gather(t, i, axis = 0));\noutput y;\nloss y;\n" \
           "train { optimizer sgd(lr = 0.1); steps 3; }"
    plan(rows % 2147483648, "--device", "cuda").fails(3, "native_cuda.scatter_add refused: admit(2147483648 update rows exceed 2147483647)")
    plan(rows % 2147483647, "--device", "cuda").ok()
    r = plan("input x: f32[3000000000, 1];\ninput z: f32[1, 1];\noutput y = x @ z;", "--profile", "vendor_cuda").ok()
    check("matmul: native_cuda.matmul" in r.out and "cublas.matmul refused: admit(an axis of 3000000000 exceeds 2147483647)" in r.out, r.out)


main(chapter_report, vendor_report, attention_in_place, shared_launch, each_op_once, contracts_and_steps, other_formats, lists, refusals_are_short, steps_agree, same_plan_twice, beyond_a_launch)
