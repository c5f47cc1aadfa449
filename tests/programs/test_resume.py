"""Steps 1..10, save, resume to 20 gives the weights of 1..20 bit for bit; also across epochs with shuffling and dropout."""
from lib import *


def resumes(name, folder, half, whole, *options):
    program = build(example(name), folder + "/program", *options)
    cwd = os.path.join(EXAMPLES, name)
    run([program, "--steps", whole, "--save", folder + "/whole.safetensors", "--seed", "11"], cwd=cwd).ok()
    run([program, "--steps", half, "--save", folder + "/half.safetensors", "--seed", "11"], cwd=cwd).ok()
    run([program, "--steps", whole, "--resume", folder + "/half.safetensors", "--save", folder + "/resumed.safetensors"], cwd=cwd).ok()
    whole_w, whole_m = read_safetensors(folder + "/whole.safetensors")
    resumed_w, resumed_m = read_safetensors(folder + "/resumed.safetensors")
    equal(sorted(resumed_w), sorted(whole_w), "keys")
    for key in whole_w:
        check(whole_w[key] == resumed_w[key], f"{name}: '{key}' differs after resuming")
    equal(resumed_m, whole_m, "run state")
    half_w = weights(folder + "/half.safetensors")
    check(any(half_w[k] != whole_w[k] for k in whole_w), "training changed nothing")


def quickstart(folder):
    resumes("quickstart_mlp", folder, 10, 20)


def digits_over_epochs(folder):
    resumes("digits_mlp", folder, 20, 50)                # 22 steps an epoch: the order of rows goes on too


def char_gpt(folder):
    resumes("char_gpt", folder, 3, 6, "-D", "T=16", "-D", "C=32", "-D", "train.batch=2")


main(quickstart, digits_over_epochs, char_gpt)
