/* What nvcc makes of our device code, run by the PTX interpreter, against the same source on the
   host shim: equal bits (or both NaN) for every kernel of the catalogue and every scalar formula,
   for each target, in several orders; pure arithmetic; and damage planted in the PTX must show.

   test_ptx_kernels CATALOGUE.cu FOLDER: FOLDER has catalogue_<target>.ptx and rows_<target>.ptx.
   Kernels get buffers of random values for each pointer of their struct and the blocks that
   blocks.h says; fields and shapes are read from the source. */
#include "host.h"
#include "host_cudart.h"

#include "blocks.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "ptx_test.h" /* cmocka has macros that streams do not bear */

namespace
{

typedef uint64_t u64;
typedef uint32_t u32;

enum { THREADS = 256, BYTES = 5 << 18, ROWS = 4096, ROW_OPERANDS = 4 };

const char *const targets[] = { "75", "80", "90", "100", "120" };
const char *catalogue_path, *folder;

#define GOOD(call) assert_int_equal((call), cudaSuccess)

std::string read_text(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);

    if (!file)
        fail_msg("cannot read %s", path.c_str());
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::string ptx_of(const std::string &name, const std::string &target)
{
    return read_text(std::string(folder) + "/" + name + "_" + target + ".ptx");
}

/* ---- the fields of argument structs, from the text */

struct Field {
    std::string type; /* of the element; a scalar has pointer false */
    bool pointer, constant;
};

/* "float *y" or "const float *x" */
Field field_of(const std::string &text)
{
    Field field = { "", text.find('*') != std::string::npos, false };
    std::istringstream words(text);

    words >> field.type;
    if (field.type == "const") {
        field.constant = true;
        words >> field.type;
    }
    return field;
}

/* 4 of "const float *x[4]", else 1 */
size_t count_of(const std::string &text)
{
    const size_t bracket = text.find('[');

    return bracket == std::string::npos ? 1 : std::stoul(text.substr(bracket + 1));
}

std::map<std::string, std::vector<Field>> fields_of_structs(const std::string &source)
{
    std::map<std::string, std::vector<Field>> all;
    const std::string end = "_args {";
    size_t at = 0;

    while ((at = source.find(end, at)) != std::string::npos) {
        const size_t begin = source.rfind(' ', at) + 1, open = at + end.size();
        const size_t close = source.find("};", open);
        std::vector<Field> &fields = all[source.substr(begin, at - begin)];
        std::string text = source.substr(open, close - open);
        std::replace(text.begin(), text.end(), '\n', ' ');
        std::istringstream parts(text);
        std::string part;
        while (std::getline(parts, part, ';')) {
            if (part.find_first_not_of(" ") != std::string::npos)
                fields.insert(fields.end(), count_of(part), field_of(part));
        }
        at = close;
    }
    return all;
}

/* ---- the blocks of a launch, from the call in the kernel's body */

struct Call {
    std::string function, body;
    std::vector<u64> n; /* its arguments that are integers */
};

Call call_of(const std::string &source, const std::string &kernel)
{
    Call call;
    const size_t begin = source.find("TLM_KERNEL(" + kernel + ")");
    const size_t at = source.find("tlmk_", begin), open = source.find('(', at);
    const size_t close = source.find(";", open);

    call.body = source.substr(begin, close - begin);
    call.function = source.substr(at, open - at);
    std::istringstream parts(source.substr(open + 1, close - open - 2));
    std::string part;
    while (std::getline(parts, part, ',')) {
        part.erase(0, part.find_first_not_of(" \n"));
        if (!part.empty() && part.find_first_not_of("0123456789") == std::string::npos)
            call.n.push_back(std::stoull(part));
    }
    return call;
}

/* the product of dims[] = { 3, 2 }; 1 when there is none */
u64 batch_of(const std::string &body)
{
    const size_t at = body.find(" dims[] = {");
    u64 product = 1, dim;

    if (at == std::string::npos)
        return 1;
    std::istringstream text(body.substr(at + 11));
    char comma;
    while (text >> dim) {
        product *= dim;
        text >> comma;
    }
    return product;
}

u32 blocks_of(const std::string &source, const std::string &kernel)
{
    const Call call = call_of(source, kernel);
    const std::vector<u64> &n = call.n;
    const auto is = [&](const char *word) { return call.function.find(word) != std::string::npos; };

    if (is("tlmk_probe") || is("check_index"))
        return 1;
    if (is("_update__") || is("accumulate"))
        return TLMK_BLOCKS(700);
    if (is("weight__cuda_columns"))
        return TLMK_COLUMN_BLOCKS(n[1]);
    if (is("mse_chunks"))
        return TLMK_CHUNK_BLOCKS(1, n[0]);
    if (is("reduce_chunks"))
        return TLMK_CHUNK_BLOCKS(n[0], n[1]);
    if (is("mean_of_parts"))
        return TLMK_REDUCE_BLOCKS(n[0], n[1], 1);
    if (is("global_norm_sums"))
        return 5;
    if (is("global_norm"))
        return 1;
    if (is("reduce_") || is("argmax"))
        return (u32)(TLMK_REDUCE_BLOCKS(n[0], n[1], n[2]));
    if (is("matmul"))
        return (u32)TLMK_MATMUL_BLOCKS(n[0], n[1], batch_of(call.body));
    if (is("mse_loss__"))
        return TLMK_ROW_BLOCKS(1, n[0]);
    if (is("cross_entropy_vjp"))
        return TLMK_BLOCKS(n[0] * n[1]);
    if (is("softmax") || is("layer_norm") || is("cross_entropy"))
        return TLMK_ROW_BLOCKS(n[0], n[1]);
    if (is("gather"))
        return TLMK_BLOCKS(n[0] * n[2] * n[3]);
    if (is("scatter"))
        return (u32)TLMK_SCATTER_BLOCKS(n[0], n[3]);
    return TLMK_BLOCKS(n.back()); /* one thread an element, whose number comes last */
}

/* ---- device memory with random values */

std::vector<u32> values_for(const std::string &type, u32 seed)
{
    std::vector<u32> values(BYTES / 4);
    u64 state = seed;

    for (u32 &value : values) {
        const u64 random = next_random(state);
        if (type == "float")
            value = (u32)bits_of((float)(random >> 40) * 0x1p-23f - (seed % 2 == 0 ? 1.0f : 0.0f));
        else if (type == "int32_t")
            value = (u32)(random % 8); /* indices too */
        else if (type == "uint8_t")
            value = (u32)random & 0x01010101;
        else
            value = type == "uint32_t" ? 0 : (u32)random;
    }
    return values;
}

/* 0, ties, subnormals, infinities, NaN, and any bits */
std::vector<u32> row_values()
{
    static const u32 special[] = { 0,          0x80000000, 1,          0x80000001, 0x007fffff,
                                   0x00800000, 0x3f800000, 0xbf800000, 0x3f000000, 0x40000000,
                                   0x40400000, 0xc0400000, 0x7f800000, 0xff800000, 0x7fc00000,
                                   0x7f7fffff, 0xff7fffff, 0x42c80000, 0xc2c80000, 0x4f000000 };
    std::vector<u32> values(ROW_OPERANDS * ROWS);
    u64 state = 3;

    for (u32 &value : values) {
        const u64 random = next_random(state);
        if (random % 4 == 0)
            value = special[random / 4 % (sizeof special / sizeof *special)];
        else if (random % 4 == 1)
            value = (u32)(random >> 32);
        else
            value = (u32)bits_of(((float)(random >> 40) * 0x1p-23f - 1.0f) * 16.0f);
    }
    return values;
}

struct Case {
    std::string kernel;
    std::vector<Field> fields;
    std::vector<std::vector<u32>> values; /* of the pointers */
    u32 scalar = 0, blocks = 0;
};

class Device
{
  public:
    explicit Device(const Case &c) : case_(c), buffers_(c.fields.size())
    {
        size_t k = 0;

        for (size_t i = 0; i < c.fields.size(); i++) {
            if (!c.fields[i].pointer)
                continue;
            GOOD(cudaMalloc(&buffers_[i], c.values[k].size() * 4));
            k++;
        }
    }
    ~Device()
    {
        for (void *buffer : buffers_)
            cudaFree(buffer);
    }

    void upload()
    {
        size_t k = 0;

        for (size_t i = 0; i < buffers_.size(); i++) {
            if (buffers_[i] != nullptr) {
                const std::vector<u32> &from = case_.values[k++];
                GOOD(cudaMemcpy(buffers_[i], from.data(), from.size() * 4, cudaMemcpyHostToDevice));
            }
        }
    }

    /* The results, the fields that are not constant, one after another. */
    std::vector<u32> download() const
    {
        std::vector<u32> all;
        size_t k = 0;

        for (size_t i = 0; i < buffers_.size(); i++) {
            if (buffers_[i] == nullptr)
                continue;
            const size_t n = case_.values[k++].size();
            if (case_.fields[i].constant)
                continue;
            all.resize(all.size() + n);
            GOOD(cudaMemcpy(&all[all.size() - n], buffers_[i], n * 4, cudaMemcpyDeviceToHost));
        }
        return all;
    }

    /* The bytes of the argument struct. */
    std::vector<u64> args() const
    {
        std::vector<u64> words;

        for (size_t i = 0; i < buffers_.size(); i++)
            words.push_back(buffers_[i] != nullptr ? (u64)buffers_[i] : case_.scalar);
        return words;
    }

  private:
    const Case &case_;
    std::vector<void *> buffers_;
};

/* ---- running */

class Library
{
  public:
    explicit Library(const std::string &image) : image_(image)
    {
        GOOD(cudaLibraryLoadData(&library_, image_.c_str(), nullptr, nullptr, 0, nullptr, nullptr,
                                 0));
    }
    ~Library()
    {
        cudaLibraryUnload(library_);
    }
    Library(const Library &) = delete;
    Library &operator=(const Library &) = delete;

    std::vector<u32> run(Device &device, const std::string &kernel, u32 blocks,
                         bool *failed = nullptr)
    {
        cudaKernel_t found = nullptr;
        std::vector<u64> words = device.args();
        void *args[] = { words.data() };
        cudaLaunchConfig_t config = {};

        GOOD(cudaLibraryGetKernel(&found, library_, kernel.c_str()));
        config.gridDim = dim3(blocks);
        config.blockDim = dim3(THREADS);
        device.upload();
        GOOD(cudaLaunchKernelExC(&config, (const void *)found, args));
        const cudaError_t error = cudaDeviceSynchronize();
        if (failed != nullptr && error != cudaSuccess) {
            *failed = true;
            tlm_host_forgive();
            return {};
        }
        if (error != cudaSuccess)
            fail_msg("%s: %s", kernel.c_str(), tlm_host_text(0));
        return device.download();
    }

  private:
    std::string image_;
    cudaLibrary_t library_ = nullptr;
};

bool same(const std::vector<u32> &a, const std::vector<u32> &b, size_t &at)
{
    for (at = 0; at < a.size(); at++) {
        if (!same_float(a[at], b[at]))
            return false;
    }
    return true;
}

struct Set { /* of kernels */
    std::string name;
    std::vector<Case> cases;
    std::vector<std::vector<u32>> wanted; /* from the shim */
};

Set catalogue()
{
    Set set = { "catalogue", {}, {} };
    const std::string source = read_text(catalogue_path);
    const auto structs = fields_of_structs(source);
    std::map<std::string, std::vector<std::vector<u32>>> pool; /* by type and place */

    for (const auto &entry : structs) {
        Case c = { entry.first, entry.second, {}, 1, blocks_of(source, entry.first) };
        u32 place = 0;
        for (const Field &field : c.fields) {
            if (!field.pointer)
                continue;
            std::vector<std::vector<u32>> &made = pool[field.type];
            while (made.size() <= place)
                made.push_back(values_for(field.type, (u32)made.size()));
            c.values.push_back(made[place++]);
        }
        set.cases.push_back(c);
    }
    return set;
}

Set rows()
{
    Set set = { "rows", {}, {} };
    const std::string text = ptx_of("rows", "80");
    const Module module(text);

    for (u32 i = 0; i < ptx_kernel_count(module.module); i++) {
        Case c = { ptx_kernel_name(ptx_kernel_at(module.module, i)), {}, {}, ROWS, ROWS / THREADS };
        c.fields = { { "uint32_t", true, false },
                     { "uint32_t", true, true },
                     { "uint32_t", false, false } };
        c.values = { std::vector<u32>(ROWS, 0xdeadbeef), row_values() };
        set.cases.push_back(c);
    }
    return set;
}

void run_on_shim(Set &set)
{
    Library shim("TLM-CUDA-HOST");

    for (const Case &c : set.cases) {
        Device device(c);
        set.wanted.push_back(shim.run(device, c.kernel, c.blocks));
    }
}

/* Every kernel of the set in the PTX of one target. */
void compare(const Set &set, const std::string &target)
{
    const std::string text = ptx_of(set.name, target);
    const Module module(text);
    char report[8192];
    size_t at = 0;

    if (ptx_check(text.data(), text.size(), report, sizeof report) != 0)
        fail_msg("%s_%s.ptx:\n%s", set.name.c_str(), target.c_str(), report);
    assert_int_equal(ptx_kernel_count(module.module), set.cases.size());
    Library library(text);
    for (size_t i = 0; i < set.cases.size(); i++) {
        const Case &c = set.cases[i];
        Device device(c);
        const std::vector<u32> y = library.run(device, c.kernel, c.blocks);
        if (!same(set.wanted[i], y, at))
            fail_msg("%s for sm_%s: word %zu is %08x, on the shim %08x", c.kernel.c_str(),
                     target.c_str(), at, y[at], set.wanted[i][at]);
    }
}

void test_set(Set set)
{
    assert_true(set.cases.size() > 50);
    run_on_shim(set);
    for (const char *target : targets)
        compare(set, target);
    for (const char *order : { "reversed", "random:1", "random:2" }) { /* of the interpreter */
        setenv("TLM_HOST_SCHEDULE", order, 1);
        compare(set, order[2] == 'v' ? "80" : "120");
    }
    unsetenv("TLM_HOST_SCHEDULE");
}

void test_catalogue(void **)
{
    test_set(catalogue());
}

void test_rows(void **)
{
    test_set(rows());
}

/* ---- damage */

/* Replaces the first `from` of the kernel; false when it has none. */
bool damage(std::string &text, const std::string &kernel, const std::string &from,
            const std::function<std::string(const std::string &line)> &to)
{
    const size_t entry = text.find(".entry " + kernel + "(");
    const size_t end = text.find("\n}", entry), at = text.find(from, entry);

    if (at == std::string::npos || at > end)
        return false;
    const size_t line_end = text.find(';', at) + 1;
    text.replace(at, line_end - at, to(text.substr(at, line_end - at)));
    return true;
}

/* "fma.rn.f32 d, a, b, c;" as a product and a sum: two roundings. */
std::string in_two(const std::string &line)
{
    const size_t first = line.find('%'), second = line.find(',', first);
    const size_t third = line.find(',', second + 1), fourth = line.find(',', third + 1);
    const std::string d = line.substr(first, second - first);

    return "{ .reg .f32 half; mul.rn.f32 half" + line.substr(second, fourth - second) +
           "; add.rn.f32 " + d + ", half" + line.substr(fourth) + " }";
}

std::string without(const std::string &)
{
    return "";
}

/* shfl.sync.bfly.b32 a|p, b, 16, 31, -1; at half the distance */
std::string nearer(const std::string &line)
{
    std::string changed = line;

    for (const char *const from : { ", 16,", ", 8,", ", 4,", ", 2," }) {
        const size_t at = changed.find(from);
        if (at != std::string::npos)
            return changed.replace(at, strlen(from), ", 1,");
    }
    return changed;
}

void test_damage(void **)
{
    static const struct {
        const char *what, *from;
        std::string (*to)(const std::string &line);
        u32 least; /* kernels that must notice */
    } faults[] = { { "fma in two roundings", "fma.rn.f32", in_two, 6 },
                   { "no barrier", "bar.sync", without, 4 },
                   { "a nearer shuffle", "shfl.sync.bfly.b32", nearer, 6 } };
    Set set = catalogue();
    const std::string text = ptx_of("catalogue", "120"); /* distances stand in the instruction */

    run_on_shim(set);
    tlm_host_quiet(1);
    for (const auto &fault : faults) {
        u32 noticed = 0, planted = 0;
        for (size_t i = 0; i < set.cases.size(); i++) {
            const Case &c = set.cases[i];
            std::string changed = text;
            if (noticed >= fault.least || !damage(changed, c.kernel, fault.from, fault.to))
                continue;
            planted++;
            Library library(changed);
            Device device(c);
            bool failed = false;
            size_t at = 0;
            const std::vector<u32> y = library.run(device, c.kernel, c.blocks, &failed);
            noticed += failed || !same(set.wanted[i], y, at);
        }
        printf("%s: noticed in %u of %u kernels\n", fault.what, noticed, planted);
        assert_true(noticed >= fault.least);
    }
    tlm_host_reset();
    tlm_host_quiet(0);
}

} // namespace

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_catalogue),
        cmocka_unit_test(test_damage),
    };

    if (argc != 3) {
        fprintf(stderr, "usage: test_ptx_kernels CATALOGUE.cu FOLDER\n");
        return 2;
    }
    catalogue_path = argv[1];
    folder = argv[2];
    tlm_host_capability(120);
    return cmocka_run_group_tests_name("ptx_kernels", tests, nullptr, nullptr);
}
