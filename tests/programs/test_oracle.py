"""The quickstart's numbers, as text: an independent binary64 recomputation of the same training gives these six decimals."""
from lib import *

ORACLE = {
    (2026, 0): dict(before="0.761530", after="0.761530", heldout="0.043283", center="0.000000"),
    (2026, 20): dict(before="0.761530", after="0.459876", heldout="0.012967", center="-0.132460"),
    (2026, 200): dict(before="0.761530", after="0.003234", heldout="0.210239", center="0.232135"),
    (0, 0): dict(before="1.349908", after="1.349908"),
    (0, 20): dict(before="1.349908", after="0.753997"),
    (0, 200): dict(before="1.349908", after="0.002521"),
}
STEPS = {0: "0.000866", 25: "0.268454", 50: "0.005610", 75: "0.039779", 100: "0.069152", 125: "0.002023", 150: "0.003828", 175: "0.000003"}


def lines_of(out, prefix):
    return [line for line in out.splitlines() if line.strip().startswith(prefix)]


def oracle_with(folder, *options):
    program = build(example("quickstart_mlp"), folder + "/quickstart", *options)
    for (seed, steps), want in ORACLE.items():
        out = run([program, "--seed", seed, "--steps", steps], cwd=EXAMPLES + "/quickstart_mlp").ok().out
        what = f"seed {seed}, {steps} steps"
        equal(lines_of(out, "mean_loss(before)"), [f"mean_loss(before) = {want['before']}"], what)
        equal(lines_of(out, "mean_loss(after)"), [f"mean_loss(after) = {want['after']}"], what)
        equal(lines_of(out, "steps="), [f"steps={steps} loss0={want['before']} loss1={want['after']}"], what)
        if seed == 2026:
            after = out[out.index("predictions(after)"):]
            for probe in ("heldout", "center"):
                if probe in want:
                    line = lines_of(after, probe + ":")
                    check(len(line) == 1 and line[0].endswith(f"pred=[{want[probe]}]"), f"{what}: {line} lacks {want[probe]}")
            before = lines_of(out[:out.index("predictions(after)")], "heldout:")
            check(before and before[0].endswith("pred=[0.043283]"), f"{what}: before {before}")
            for step, loss in STEPS.items():
                if step < steps:
                    equal(lines_of(out, f"step {step}:"), [f"step {step}: loss={loss}"], what)
        check(out.splitlines()[-1] == "quickstart_mlp: ok", f"{what}: last line {out.splitlines()[-1]!r}")


def checked_cpu(folder):
    oracle_with(folder)


def reference_cpu(folder):
    oracle_with(folder, "--profile", "reference_cpu")


def passes_off(folder):
    off = [x for name in ("fold", "cse", "canonical") for x in ("--no-pass", name)]
    oracle_with(folder, *off)


main(checked_cpu, reference_cpu, passes_off)
