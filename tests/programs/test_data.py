"""Bad data and bad checkpoints to a compiled program: exit 1, one message that names file and place, no signal."""
from lib import *

MODEL = """model m;
dim batch = 2;
input  x: f32[batch, 2];
target y: f32[batch, 1];
pred = linear(x, 1) as fc;
output pred;
loss   mse_loss(pred, y);
train {
%s
  optimizer sgd(lr = 0.1);
  steps 2;
}
"""
CSV = '  data "d.csv" { x = columns(0, 1); y = columns("label"); header true; }'
NPY = '  data "x.npy" { x = array(); }\n  data "y.npy" { y = array(); }'


def program(folder, data, name):
    path = os.path.join(folder, name + ".tlm")
    open(path, "w").write(MODEL % data)
    return build(path, os.path.join(folder, name))


def csv(folder):
    p = program(folder, CSV, "csv")

    def given(text, *messages, status=1):
        open(folder + "/d.csv", "w" if isinstance(text, str) else "wb").write(text)
        r = run([p], cwd=folder)
        r.ok() if status == 0 else r.fails(status, "d.csv", *messages)

    good = "a,b,label\n" + "1,2,3\n" * 4
    given(good, status=0)
    given(good.replace("\n", "\r\n"), status=0)
    given('a,b,"label"\n' + '"1",2,3\n' * 4, status=0)
    given("a,b,lable\n" + "1,2,3\n" * 4, "label")
    given("a,b,label\n1,2,3\n1,2\n", ":3")
    given("a,b,label\n1,2,3\n1,cat,3\n", ":3", "cat")
    given("a,b,label\n1,2,3\n1,,3\n", ":3")
    given("a,b,label\n1,2,3\n1,nan,3\n", ":3", "nan")
    given("a,b,label\n1,2,3\n1,1e999,3\n", ":3")
    given('a,b,label\n1,2,3\n1,"2,3\n', ":3")
    given("", "")
    given("a,b,label\n", "")
    given("a,b,label\n1,2,3\n", "row")                  # fewer rows than a batch
    given(bytes(range(256)) * 100, "")
    os.remove(folder + "/d.csv")
    run([p], cwd=folder).fails(1, "d.csv")
    os.mkdir(folder + "/d.csv")
    run([p], cwd=folder).fails(1, "d.csv")


def npy(folder):
    p = program(folder, NPY, "npy")
    y = folder + "/y.npy"
    x = folder + "/x.npy"
    write_npy(y, "<f4", (4, 1), [1.0] * 4)
    write_npy(x, "<f4", (4, 2), [1.0] * 8)
    run([p], cwd=folder).ok()
    good = open(x, "rb").read()

    def broken(data, *messages):
        open(x, "wb").write(data)
        run([p], cwd=folder).fails(1, "x.npy", *messages)

    write_npy(x, "<f8", (4, 2), [1.0] * 8)
    run([p], cwd=folder).fails(1, "x.npy", "f8")
    write_npy(x, "<i4", (4, 2), [1] * 8)
    run([p], cwd=folder).fails(1, "x.npy", "i4")
    write_npy(x, "<f4", (4, 3), [1.0] * 12)
    run([p], cwd=folder).fails(1, "x.npy", "3")
    write_npy(x, "<f4", (5, 2), [1.0] * 10)
    run([p], cwd=folder).fails(1, "npy", "5", "4")
    broken(good.replace(b"'fortran_order': False", b"'fortran_order': True "), "order")
    broken(good[:-4])
    broken(good + b"xxxx")
    broken(good[:9])
    broken(b"")
    broken(b"\x93NUMPY\x01\x00\xff\xff" + good[10:])
    broken(good.replace(b"(4, 2)", b"(4,-2)"))
    broken(good.replace(b"(4, 2)", b"(4611686018427387904, 4)"[:6]))
    broken(bytes(range(256)) * 40)


def checkpoints(folder):
    p = program(folder, CSV, "ck")
    open(folder + "/d.csv", "w").write("a,b,label\n" + "1,2,3\n" * 4)
    path = folder + "/w.safetensors"
    run([p, "--save", path], cwd=folder).ok()
    tensors, meta = read_safetensors(path)
    own = {k: v for k, v in tensors.items() if not k.startswith("tlm.")}
    equal(sorted(own), ["fc.bias", "fc.weight"], "keys")

    def loads(status, *messages, **kw):
        write_safetensors(path, **kw)
        r = run([p, "--steps", "0", "--load", path], cwd=folder)
        r.ok() if status == 0 else r.fails(status, *messages)

    loads(0, tensors=own)
    loads(1, "fc.bias", tensors={"fc.weight": own["fc.weight"]})
    loads(1, "extra", tensors={**own, "extra": own["fc.bias"]})
    loads(1, "fc.bias", tensors={**own, "fc.bias": ("F32", [2], bytes(8))})
    loads(1, "fc.bias", tensors={**own, "fc.bias": ("F64", [1], bytes(8))})
    loads(1, "fc.bias", tensors={**own, "fc.bias": ("I32", [1], bytes(4))})
    loads(0, tensors={**own, "fc.bias": ("F16", [1], b"\x00\x3c")})
    loads(0, tensors={**own, "fc.bias": ("BF16", [1], b"\x80\x3f")})
    lying = json.dumps({"fc.weight": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
                        "fc.bias": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})
    loads(1, "w.safetensors", tensors=own, header=lying)
    for text in ("", "{", "[]", "{}", '{"fc.weight": 1}', '{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 99999]}}', "{" * 100000,
                 lying.replace("[0, 8]", "[0, 18446744073709551616]"), lying.replace("[1, 2]", "[4294967296, 4294967296]")):
        loads(1, "w.safetensors", tensors=own, header=text)
    for head in (b"", b"\x01", struct.pack("<Q", 1 << 63), struct.pack("<Q", 1 << 40) + b"{}", struct.pack("<Q", 50) + b"{}"):
        open(path, "wb").write(head)
        run([p, "--steps", "0", "--load", path], cwd=folder).fails(1, "w.safetensors")
    run([p, "--steps", "0", "--load", folder + "/none"], cwd=folder).fails(1, "none")


def flags(folder):
    p = program(folder, CSV, "fl")
    open(folder + "/d.csv", "w").write("a,b,label\n" + "1,2,3\n" * 4)
    run([p, "--help"], cwd=folder).ok()
    for argv in (["--frob"], ["--steps"], ["--steps", "x"], ["--steps", "-1"], ["--steps", "1", "--steps", "2"], ["--steps", "99999999999999999999"],
                 ["--threads", "-1"], ["--threads", "1025"], ["--cpu", "z80"], ["left", "over"], ["--seed", "1.5"]):
        run([p, *argv], cwd=folder).fails(2)
    run(["sh", "-c", f"ulimit -v 500000; exec {p} --steps 1 --threads 1000"], cwd=folder).fails(     # no room for so many stacks
        2, "1000 threads: the system lets only ", "--threads N sets how many")
    run(["sh", "-c", f"ulimit -v 500000; exec {p} --steps 1 --threads 5"], cwd=folder).ok()
    write_npy(folder + "/in.npy", "<f4", (2, 2), [1.0, 2.0, 3.0, 4.0])
    run([p, "--infer", "--input", "x=in.npy", "--output", "pred=out.npy"], cwd=folder).ok()
    equal(read_npy(folder + "/out.npy")[0], (2, 1), "shape of pred")
    run([p, "--infer", "--input", "z=in.npy"], cwd=folder).fails(2, "z")
    run([p, "--infer"], cwd=folder).fails(2, "x")
    write_npy(folder + "/in.npy", "<f4", (3, 2), [1.0, 2.0, 3.0, 4.0, 1.0, 2.0])    # any number of rows, in batches
    run([p, "--infer", "--input", "x=in.npy", "--output", "pred=out.npy"], cwd=folder).ok()
    equal(read_npy(folder + "/out.npy")[0], (3, 1), "shape of pred")
    write_npy(folder + "/in.npy", "<f4", (3, 3), [1.0] * 9)
    run([p, "--infer", "--input", "x=in.npy"], cwd=folder).fails(1, "in.npy")
    run([p, "--infer", "--input", "x=none.npy"], cwd=folder).fails(1, "none.npy")
    for option in ("--data", "--load", "--resume"):
        run([p, option, "/dev/zero"], cwd=folder).fails(1, "/dev/zero", "device")
    run([p, "--log", folder + "/log.jsonl"], cwd=folder).ok()
    rows = [json.loads(line) for line in open(folder + "/log.jsonl")]
    check(rows and all(isinstance(r, dict) for r in rows), "JSON lines")
    run([p, "--check-gradients"], cwd=folder).ok()


main(csv, npy, checkpoints, flags)
