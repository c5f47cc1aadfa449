#!/usr/bin/env python3
"""Changes the text of kernels_cuda/*.cuh in one place at a time and looks whether the layers of tests/cuda_host notice.

    mutate_kernels.py BUILD [--only TEXT] [--every K] [--list] [--jobs N]

BUILD is a build folder that has tests/cuda_host.  Each mutant is compiled with those kernels of kernels_cuda/catalogue.cu
and tests/cuda_host/mutant_shapes.cu that show its function, for the checked layer, and runs with fixed operands
(mutant_main.cpp): it is found when a result has other bits than without the change, when the shim reports something, or
when it crashes or hangs.  One that is not found there is tried with ASan and UBSan, which see arrays of single threads,
for what the plain layer sees the checked one sees too.  What neither finds must stand in
equivalent_mutants.txt with the reason why it changes nothing; an entry there whose mutant is found, or is no more, is an
error too.  Exit status 0, 1, or 77: this build cannot run it.
"""
import argparse
import concurrent.futures
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KERNELS = os.path.join(ROOT, "kernels_cuda")
HOST = os.path.join(ROOT, "tests", "cuda_host")
EQUIVALENT = os.path.join(ROOT, "scripts", "equivalent_mutants.txt")
CPU_SECONDS = 12  # of one mutant's run: unchanged code takes five at most

# file, function, and the kernels that show a change there: more than one text where most changes show in the first ones.
# The first row that fits counts.
WITNESSES = [
    ("copy", "tlmk_copy", "copy_(f32|f32_broadcast)"),
    ("copy", "tlmk_slice_vjp", "slice_vjp_(f32|bool)"),
    ("copy", "tlmk_concat", "concat_(f32|bool)"),
    ("copy", "", "copy_(f32|bool)|slice_vjp_bool|concat_bool"),
    ("reduce", "tlmk_reduce_sum|tlmk_f32_reduce_sum", "reduce_sum_f32_(rows|columns)"),
    ("reduce", "tlmk_f32_reduce_mean", "reduce_mean_f32_rows"),
    ("reduce", "tlmk_f32_reduce_chunks", "reduce_chunks"),
    ("reduce", "tlmk_f32_mean_of_parts", "mean_of_parts"),
    ("reduce", "tlmk_f32_global_norm", "global_norm.*"),
    ("reduce", "tlmk_reduce_any_order", "reduce_max_f32_(rows|long|columns)"),
    ("reduce", "TLMK_REDUCE_ANY_ORDER", "reduce_(max_f32|min_f32|sum_i32|max_i32|min_i32)_rows"),
    ("reduce", "tlmk_f32_reduce_extreme", "reduce_extreme_vjp_.*"),
    ("reduce", "tlmk_candidate|tlmk_warp_candidate|tlmk_argmax|TLMK_ARGMAX", "argmax_(f32_.*|bool_rows)"),
    ("columns", "tlmk_column_any_order", "reduce_max_f32_columns"),
    ("columns", "tlmk_column_(sums|carry)", "reduce_sum_f32_(columns|deep)|layer_norm_vjp_weight_deep", "sum_columns_.*"),
    ("columns", "", "reduce_sum_f32_(columns|deep)|layer_norm_vjp_weight_columns"),
    ("rows", "tlmk_(level|block_sum)", "reduce_sum_f32_long|level_lanes|sum_rows_.*"),
    ("rows", "tlmk_(warp_any_order|block_any_order|row_max)", "reduce_max_f32_(rows|long|second_warp)|softmax_row"),
    ("rows", "", "reduce_sum_f32_(rows|long|pair)|reduce_chunks|softmax_row"),
    ("matmul", "tlmk_f32_matmul", "matmul_batched", "mm_(rows|columns|thin|anywhere)", "mm_(fours|ones|large|empty)|matmul_.*"),
    ("matmul", "", "mm_(fours|ones)", "mm_large", "matmul_.*|mm_(one|two|empty|columns)"),
    ("softmax", "tlmk_f32_softmax__", "softmax_(row|long)"),
    ("softmax", "tlmk_f32_softmax_masked", "softmax_masked_.*"),
    ("softmax", "tlmk_f32_softmax_vjp", "softmax_vjp_row"),
    ("softmax", "tlmk_f32_log_softmax__", "log_softmax_row"),
    ("softmax", "tlmk_f32_log_softmax_vjp", "log_softmax_vjp_row"),
    ("norm", "tlmk_f32_layer_norm__", "layer_norm_row"),
    ("norm", "tlmk_f32_layer_norm_vjp__", "layer_norm_vjp_row"),
    ("norm", "tlmk_f32_layer_norm_vjp_weight", "layer_norm_vjp_weight_columns"),
    ("loss", "tlmk_f32_mse", "mse_.*"),
    ("loss", "", "cross_entropy_(row|vjp)"),
    ("random", "", "rand_uniform|bernoulli_.*"),
    ("index", "tlmk_i32_iota", "iota"),
    ("index", "tlmk_warp_least|tlmk_i32_check_index", "check_index.*"),
    ("index", "tlmk_gather", "gather_(f32|bool)"),
    ("index", "tlmk_same_index|tlmk_f32_scatter", "scatter_.*"),
    ("update", "", "[a-z]+_update|accumulate"),
]
FILES = list(dict.fromkeys(row[0] for row in WITNESSES))


# ---- reading the text


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def code_of(text):
    """The text without comments, includes and static assertions, each character in its place."""
    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
    text = re.sub(r"(?m)^#(include|ifndef|undef|endif).*", blank, text)
    text = re.sub(r"static_assert\(.*?\);", blank, text, flags=re.S)
    return re.sub(r"<\w+, \w+>", lambda m: m[0].replace(",", "_"), text)  # arguments of templates are one operand


def closing(code, at):
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i
    raise ValueError(code[at:at + 40])


def operand(code, at, step):
    """How far the operand of a comparison or of && reaches to the left (step -1) or right of `at`."""
    depth = 0
    while True:
        c = code[at]
        depth += (c in "([{") - (c in ")]}") if step == 1 else (c in ")]}") - (c in "([{")
        if depth < 0:
            break
        if depth == 0 and (c in ";,?" or code[at:at + 2] in ("&&", "||") or code[at:at + 3] in (" = ", " : ", "+= ")):
            break
        if step == -1 and depth == 1 and c == ")" and re.match(r"\)\s*\n", code[at:]):
            break  # the head of a loop
        if depth == 0 and step == -1 and re.match(r"return\b", code[at - 5:at + 1]):
            break
        at += step
    return at


def operands(code, start, end):
    """The whole comparison, or the two operands of && and ||, around the operator code[start:end]."""
    left, right = operand(code, start, -1) + 1, operand(code, end, 1)
    while code[left].isspace() or code[left] in "&|=:)+":
        left += 1
    while code[right - 1].isspace():
        right -= 1
    return left, right


class Text:
    """One header: its code, the heads of its loops, its conditions."""

    def __init__(self, name):
        self.name = name
        with open(os.path.join(KERNELS, name)) as file:
            self.text = file.read()
        self.code = code_of(self.text)
        self.loops = [(m.end() - 1, closing(self.code, m.end() - 1)) for m in re.finditer(r"\bfor \(", self.code)]
        self.ifs = [(m.end() - 1, closing(self.code, m.end() - 1)) for m in re.finditer(r"\bif \(", self.code)]
        heads = re.finditer(r"(?m)^TLM_INLINE[^;{(]*?(\w[\w#]*)\(|^#define (\w+)|^(?:struct|enum) ?(\w*)", self.code)
        self.heads = [(m.start(), next((g for g in m.groups() if g), "enum")) for m in heads]

    def in_loop_head(self, at):
        return any(first < at < last for first, last in self.loops)

    def returns_after(self, at):
        """Is `at` in the condition of a return?"""
        for first, last in self.ifs:
            if first < at < last:
                return re.match(r"\s*(return|continue)\b", self.code[last + 1:]) is not None
        return False

    def function(self, at):
        return next((name for start, name in reversed(self.heads) if start <= at), "?")


# ---- the rules: each gives (start, end, new text) for a Text


def barriers(t):
    """a barrier is taken out"""
    for m in re.finditer(r"__sync(threads|warp)\(\);", t.code):
        yield m.start(), m.end(), ";"


COMPARISON = r" (<|<=|>|>=|==|!=) "
WIDER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def bounds(t):
    """a bound moves by one"""
    for m in re.finditer(r" (<|<=|>|>=) ", t.code):
        start, end = m.span(1)
        if m[1] == ">" and t.in_loop_head(start) and t.code[end:end + 3] == " 0;":
            yield start, end + 2, "> 1"  # a loop that halves: >= 0 would never end
        else:
            yield start, end, WIDER[m[1]]


def guards(t):
    """a comparison is left out: what it guards always happens"""
    for m in re.finditer(COMPARISON, t.code):
        start, end = m.span(1)
        if t.in_loop_head(start):
            continue
        left, right = operands(t.code, start - 1, end + 1)
        yield left, right, "false" if t.returns_after(start) else "true"


def conjuncts(t):
    """an operand of && or || that is no comparison is left out"""
    for m in re.finditer(r" (&&|\|\|)\s", t.code):
        for left, right in (operands(t.code, m.start() - 1, m.start()), operands(t.code, m.end(), m.end())):
            if not re.search(COMPARISON, t.code[left:right]):
                yield left, right, "true" if m[1] == "&&" else "false"


def conditions(t):
    """a flag is negated; the rules above see to comparisons"""
    for first, last in t.ifs:
        if not re.search(COMPARISON, t.code[first:last]):
            yield first, last + 1, "(!" + t.text[first:last + 1] + ")"
    for m in re.finditer(r" \? ", t.code):
        left, right = operands(t.code, m.start(), m.start())
        if not re.search(COMPARISON, t.code[left:right]):
            yield left, right, "!" + t.text[left:right]


def shuffles(t):
    """lanes are exchanged at another distance, or with a mask that lacks one"""
    for m in re.finditer(r"(?<=, )half(?=\))", t.code):
        yield m.start(), m.end(), "half / 2"
    for m in re.finditer(r"(?<== )TLMK_WARP / 2|half /= 2", t.code):
        yield m.start(), m.end(), m[0][:-1] + "4"
    for m in re.finditer(r"TLMK_ALL_LANES", t.code):
        yield m.start(), m.end(), "0x7fffffffu"


def fused(t):
    """a fused multiply-add is rounded twice"""
    for m in re.finditer(r"tlm_fma(\()", t.code):
        last = closing(t.code, m.start(1))
        parts, depth = [""], 0
        for c in t.text[m.end():last]:
            depth += (c in "([{") - (c in ")]}")
            if c == "," and depth == 0:
                parts.append("")
            else:
                parts[-1] += c
        a, b, c = (part.strip() for part in parts)
        yield m.start(), last + 1, f"(({a}) * ({b}) + ({c}))"


def constants(t):
    """a number is one more: constants, first elements of loops, factors of places"""
    for m in re.finditer(r"(?<![\w.\[])(\d+)(u?)(?![\w.\]])", t.code):
        before, after = t.code[:m.start()], t.code[m.end():]
        if re.search(r"TLMK_PARTS\($", before) or re.search(r"(/=? |> |#define.*)$", before):
            continue
        named = re.fullmatch("enum|tlmk_halve_eight|tlmk_mm_(place_of|element|begin|carries|tile)", t.function(m.start()))
        if named or re.search(r"\w = $", before) and re.match(r"[;,]", after):
            yield m.start(), m.end(), str(int(m[1]) + 1) + m[2]
    for m in re.finditer(r"rank - 1", t.code):
        yield m.start(), m.end(), "rank - 2"


def starts(t):
    """a sum, a maximum or the outside begins with something else"""
    for m in re.finditer(r"-?\b0\.0f\b", t.code):
        yield m.start(), m.end(), "0.0f" if m[0][0] == "-" else "-0.0f"
    for m in re.finditer(r"-?TLM_F32_INF", t.code):
        yield m.start(), m.end(), "0.0f"
    for m in re.finditer(r"\(T\)0|\(V\)0", t.code):
        yield m.start(), m.end(), m[0][:-1] + "1"
    for m in re.finditer(r"0xffffffffu|0x80000000u|0x7fffffff\b", t.code):
        yield m.start(), m.end(), "0u"


def sums(t):
    """what is added is stored instead, or a loop takes longer steps"""
    for m in re.finditer(r" \+= ", t.code):
        end = re.compile(r"[;)]").search(t.code, m.end()).start()
        if not t.in_loop_head(m.start()):
            yield m.start(), m.end(), " = "
        else:
            yield end, end, " + 1"
    for m in re.finditer(r"(sum = sum \+ |to\[e\] \+ |before\.([xyzw]) \+ |y\[i\] \+ )", t.code):
        yield m.start() + (6 if m[0].startswith("sum") else 0), m.end(), ""


def places(t):
    """a result goes to the next element, or a value comes from it where its place is computed"""
    for m in re.finditer(r"(?<=\w)\[([^\]]*)", t.code):
        last = closing(t.code, m.start())
        stored = re.match(r"\] \+?= ", t.code[last:]) is not None
        declared = re.search(r"\w\s+\w+$", t.code[:m.start()]) and not re.search(r"return \w+$", t.code[:m.start()])
        if not declared and (stored or " " in m[1] or "(" in m[1]):
            yield last, last, " + 1"


def remainders(t):
    """quotient for remainder"""
    for m in re.finditer(r" % ", t.code):
        yield m.start(), m.end(), " / "


def differences(t):
    """sum for difference"""
    for m in re.finditer(r"(?<!rank) - (?!1;)", t.code):
        yield m.start(), m.end(), " + "


RULES = [("barrier", barriers), ("bound", bounds), ("guard", guards), ("operand", conjuncts), ("negated", conditions),
         ("shuffle", shuffles), ("fma", fused), ("number", constants), ("start", starts), ("sum", sums),
         ("place", places), ("remainder", remainders), ("difference", differences)]


class Mutant:
    def __init__(self, t, rule, start, end, new):
        self.file, self.rule, self.function = t.name, rule, t.function(start)
        self.line = t.text.count("\n", 0, start) + 1
        self.text = t.text[:start] + new + t.text[end:]
        first, last = t.text.rfind("\n", 0, start) + 1, t.text.find("\n", end)
        old = " ".join(t.text[first:last].split())
        changed = " ".join((t.text[first:start] + new + t.text[end:last]).split())
        self.what = shown(old, changed)

    def key(self):
        return f"{self.file} {self.function}: {self.rule}: {self.what}"


def shown(old, new):
    """The old line with {what became} of it: one pair of braces, around whole words."""
    a, b = old.split(" "), new.split(" ")
    first = 0
    while first < min(len(a), len(b)) and a[first] == b[first]:
        first += 1
    last = 0
    while last < min(len(a), len(b)) - first and a[-1 - last] == b[-1 - last]:
        last += 1
    middle = "{" + " ".join(a[first:len(a) - last]) + " => " + " ".join(b[first:len(b) - last]) + "}"
    return " ".join(a[:first] + [middle] + a[len(a) - last:])


def all_mutants():
    mutants, keys = [], {}
    for name in FILES:
        t = Text(name + ".cuh")
        seen = set()
        for rule, function in RULES:
            for start, end, new in function(t):
                m = Mutant(t, rule, start, end, new)
                if m.text in seen or m.text == t.text:
                    continue
                seen.add(m.text)
                count = keys[m.key()] = keys.get(m.key(), 0) + 1
                if count > 1:
                    m.what += f" ({count})"
                mutants.append(m)
    return mutants


# ---- compiling and running


def kernels_of(path):
    """The text of each kernel of a .cu file: its struct and its body."""
    with open(path) as file:
        text = file.read()
    found = re.findall(r"(?m)^struct (\w+)_args \{(?:.|\n)*?^\}\n", text)
    texts = re.findall(r"(?m)^struct \w+_args \{(?:.|\n)*?^\}\n", text)
    return dict(zip(found, texts))


def head_of(path):
    """What stands before the first kernel of a .cu file."""
    with open(path) as file:
        return file.read().split("/* A struct a line. */")[0]


ADDRESS = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"]


class Layer:
    """How a layer compiles and links; what no mutant changes is compiled once."""

    def __init__(self, name, settings, folder, extra=()):
        self.name, self.folder = name, os.path.join(folder, name)
        os.mkdir(self.folder)
        self.cxx, self.link = settings["cxx"], [settings["library"], *settings["link"], *extra]
        flags = [f for f in settings["device"] if f != "-g" and f != "-I" + KERNELS]
        for word in ("-x", "-include"):
            at = flags.index(word)
            del flags[at:at + 2]
        self.flags = [*flags, *extra, "-w"]
        first = os.path.join(self.folder, "first.h")
        with open(first, "w") as file:
            file.write('#include "cuda_host.h"\n#include "tlm_math.h"\n#include "tlm_random.h"\n')
        subprocess.run([self.cxx, *self.flags, "-x", "c++-header", first, "-o", first + ".gch"], check=True)
        self.main = os.path.join(self.folder, "main.o")
        subprocess.run([self.cxx, *self.flags, "-I" + KERNELS, "-fno-sanitize=all", "-c", "-o", self.main,
                        os.path.join(HOST, "mutant_main.cpp")], check=True)

    def build(self, folder, headers, kernels):
        """A program of these kernels with the headers of a folder, or None with what the compiler said."""
        source, program = os.path.join(folder, "kernels.cu"), os.path.join(folder, self.name)
        with open(source, "w") as file:
            file.write("\n".join([head_of(os.path.join(HOST, "mutant_shapes.cu")), *kernels]))
        told = subprocess.run([self.cxx, *self.flags, "-I" + headers, "-x", "c++", "-include",
                               os.path.join(self.folder, "first.h"), "-c", "-o", program + ".o", source],
                              stderr=subprocess.PIPE, text=True)
        if told.returncode != 0:
            return None, told.stderr
        subprocess.run([self.cxx, "-o", program, program + ".o", self.main, *self.link], check=True)
        return program, ""


def limit_cpu():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(program, wanted):
    """What a run with changed kernels shows, "" for nothing."""
    options = "exitcode=99:symbolize=0:detect_leaks=0"
    env = dict(os.environ, ASAN_OPTIONS=options, UBSAN_OPTIONS=options, PATH="/nowhere")  # reports without addr2line
    try:
        done = subprocess.run([program, wanted], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env,
                              preexec_fn=limit_cpu, timeout=60 * CPU_SECONDS)
    except subprocess.TimeoutExpired:
        return "hang"
    if done.returncode in (0, 1):
        return done.stdout.strip()
    if done.returncode == 2:
        raise RuntimeError(f"{program} and {wanted} have other kernels")
    # 86: the shim ended the program at a memory fault in a kernel
    return {86: "bounds", 99: "sanitizer", -9: "hang", -24: "hang"}.get(done.returncode, "crash")


class Trial:
    """Compiles and runs mutants; results of unchanged code are made once for each set of kernels."""

    def __init__(self, folder, layers):
        self.folder, self.layers = folder, layers
        self.kernels = kernels_of(os.path.join(KERNELS, "catalogue.cu"))
        self.kernels.update(kernels_of(os.path.join(HOST, "mutant_shapes.cu")))
        with open(os.path.join(HOST, "mutant_cases.def")) as file:
            self.with_case = set(re.findall(r"CASE\((\w+)", file.read()))
        self.wanted = {}

    def witnesses(self, file, function):
        for name, functions, *kernels in WITNESSES:
            if file == name + ".cuh" and re.match(functions, function):
                return kernels
        raise RuntimeError(f"no row of WITNESSES fits {file} {function}")

    def texts(self, pattern):
        chosen = [text for name, text in self.kernels.items() if name in self.with_case and re.fullmatch(pattern, name)]
        if not chosen:
            raise RuntimeError(f"no kernel fits {pattern}")
        return chosen

    def prepare(self, pattern):
        """Unchanged code: no report, and the same bits in three schedules."""
        folder = tempfile.mkdtemp(dir=self.folder)
        wanted = os.path.join(folder, "wanted")
        for layer in self.layers:
            program, error = layer.build(folder, KERNELS, self.texts(pattern))
            if program is None:
                raise RuntimeError(error)
            done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                return f"{pattern}: unchanged code on layer {layer.name}: {done.stderr}"
            if layer is self.layers[0]:
                with open(wanted, "w") as file:
                    file.write(done.stdout)
        self.wanted[pattern] = wanted
        return None

    def headers(self, mutant, folder):
        """Copies of the headers with the change."""
        headers = os.path.join(folder, "headers")
        shutil.copytree(KERNELS, headers, ignore=shutil.ignore_patterns("*.cu", "*.md"))
        with open(os.path.join(headers, mutant.file), "w") as file:
            file.write(mutant.text)
        return headers

    def try_out(self, mutant, listed):
        """Sets where and how it was found: found is "" when it was not.  Those that are listed as equivalent are tried on
        the checked layer alone."""
        patterns = self.witnesses(mutant.file, mutant.function)
        folder = tempfile.mkdtemp(dir=self.folder)
        headers = self.headers(mutant, folder)
        for layer, pattern in [(layer, pattern) for layer in self.layers[:1 if listed else None] for pattern in patterns]:
            program, error = layer.build(folder, headers, self.texts(pattern))
            mutant.layer = layer.name
            mutant.found = "does not compile" if program is None else run(program, self.wanted[pattern])
            if mutant.found:
                break
        shutil.rmtree(folder)
        return mutant


# ---- the list of equivalent mutants


def read_equivalent():
    """key -> reason: a line each, the reason behind " -- "."""
    reasons = {}
    with open(EQUIVALENT) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                key, reason = line.rstrip("\n").split(" -- ")
                reasons[key] = reason
    return reasons


def judge(mutant, reasons, counts, faults):
    """One line for each mutant."""
    reason = reasons.get(mutant.key())
    if mutant.found == "does not compile":
        counts["no code"] += 1
    elif mutant.found:
        counts["found"] += 1
    elif reason:
        counts["equivalent"] += 1
    else:
        faults.append(f"not found: line {mutant.line}: {mutant.key()}")
    if mutant.found and reason:
        faults.append(f"found, to be struck from equivalent_mutants.txt: {mutant.key()}")
    how = f"{mutant.layer}: {mutant.found}" if mutant.found else f"equivalent, {reason}" if reason else "NOT FOUND"
    print(f"{mutant.file}:{mutant.line}: {mutant.rule}: {mutant.what}\n    {how}", flush=True)


def settings_of(build):
    """The layers of a build folder; ends the program where there are none."""
    path = os.path.join(build, "tests", "cuda_host", "layers.json")
    if not os.path.exists(path):
        print("skipped: this build has no layers, no CUDA headers or no g++")
        sys.exit(77)
    with open(path) as file:
        layers = json.load(file)
    if "checked" not in layers:
        print("skipped: the checker is not for sanitized builds")
        sys.exit(77)
    return layers


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?", default=os.path.join(ROOT, "build", "gcc"))
    parser.add_argument("--only", default="", help="mutants whose line has this text")
    parser.add_argument("--every", type=int, default=1, help="each so many mutants alone")
    parser.add_argument("--list", action="store_true", help="print them, run nothing")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    everything = all_mutants()
    mutants = [m for m in everything if options.only in m.key()][::options.every]
    if options.list:
        print("\n".join(f"{m.line}: {m.key()}" for m in mutants))
        return 0
    layers, reasons = settings_of(options.build), read_equivalent()
    known = {m.key() for m in everything}
    faults = [f"no mutant is that, to be struck from equivalent_mutants.txt: {key}" for key in reasons if key not in known]
    counts = {"found": 0, "equivalent": 0, "no code": 0}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        asan = dict(layers["plain"], library=os.path.join(options.build, "tests", "cuda_host", "libtlm_host_mutants_asan.a"))
        trial = Trial(folder, [Layer("checked", layers["checked"], folder), Layer("asan", asan, folder, ADDRESS)])
        patterns = dict.fromkeys(pattern for m in mutants for pattern in trial.witnesses(m.file, m.function))
        unchanged = [fault for fault in pool.map(trial.prepare, patterns) if fault]
        faults += unchanged
        if not unchanged:
            for mutant in pool.map(lambda m: trial.try_out(m, m.key() in reasons), mutants):
                judge(mutant, reasons, counts, faults)
    print("\n".join(faults))
    print(f"{len(mutants)} mutants: {counts['found']} found, {counts['equivalent']} equivalent, "
          f"{counts['no code']} do not compile; {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
