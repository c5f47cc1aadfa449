/* Runs the kernels that were linked in with fixed operands (mutant_cases.def) and compares the bits
   of their results with those of unchanged code; scripts/mutate_kernels.py links it with changed
   kernels.

   mutant_main           prints "kernel fill hash" for each run.  Exit status 1 with a report of the
                         shim, or with results that differ between the schedules.
   mutant_main FILE      FILE is what it printed for unchanged code.  Stops at the first run that
                         shows a difference, prints "KIND[,KIND] KERNEL", and exits with 1.  0: no
                         difference in any schedule; 2: the file is of other kernels. */
#include "host_internal.h"

#include "blocks.h"

#include <string>
#include <vector>

#include <math.h>
#include <stdio.h>
#include <string.h>

namespace
{

/* What an operand holds.  Those from OUT_FLOATS on are results. */
enum kind {
    NOTHING, /* a null pointer */
    VALUE,   /* a word that is no pointer */
    FLOATS,
    POSITIVE,
    NEGATIVE,
    RISING,
    TIES,  /* floats, few different ones */
    ALIKE, /* floats, all 2 */
    BITS,  /* any words */
    INTS,  /* words from -4 to 3 */
    HIGH,  /* words with their highest bit, or without: negative and positive integers */
    LOW,
    INDEX, /* words below the parameter, some of them outside [0, parameter) */
    INSIDE,
    LAST_OUTSIDE, /* only the last one is */
    MODULO,       /* its number modulo the parameter */
    FLAGS,        /* bytes, 0 or 1 */
    DRAWS,        /* two words of 64 bits */
    OUT_FLOATS,
    OUT_WORDS,
    OUT_BYTES,
    IO_FLOATS, /* read, then written */
    IO_POSITIVE,
    IO_ALIKE_WORDS /* all of them the parameter */
};

struct operand {
    kind what;
    uint64_t count;
    uint32_t parameter;
};

/* How floats are filled: ordinary values; some of them special; signed zeros; so small that
   products vanish. */
enum fill { ORDINARY, SPECIAL, ZEROS, TINY, FILLS };
/* Which of them are worth their time; LONG: ordinary values, and only one schedule. */
enum fills { ALL, ONCE, LONG };
const char *const fill_names[FILLS] = { "ordinary", "special", "zeros", "tiny" };

struct test_case {
    const char *kernel;
    fills how;
    uint64_t blocks;
    std::vector<operand> operands;
};

std::vector<test_case> all_cases()
{
#define CASE(kernel, fills, blocks, ...) { #kernel, fills, blocks, { __VA_ARGS__ } },
    return {
#include "mutant_cases.def"
    };
}

/* ---- operands */

class random_words
{
  public:
    explicit random_words(uint64_t seed) : state_(seed)
    {
    }
    uint32_t next()
    {
        state_ = state_ * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(state_ >> 32);
    }
    /* [0, 1) */
    float next_float()
    {
        return (float)(next() >> 8) * 0x1p-24f;
    }

  private:
    uint64_t state_;
};

float special_float(random_words &random)
{
    static const float values[] = { NAN,    INFINITY, -INFINITY, 0.0f,  -0.0f,
                                    1e-40f, 3e38f,    -3e38f,    88.8f, -104.0f };

    return values[random.next() % (sizeof values / sizeof *values)];
}

float float_for(const operand &o, fill how, random_words &random, uint64_t number)
{
    const bool positive = o.what == POSITIVE || o.what == IO_POSITIVE;
    const float x = random.next_float();
    const float value = positive ? x + 0.5f : x * 4.0f - 2.0f;

    switch (o.what) {
    case TIES:
        if (how == SPECIAL && random.next() % 16 == 0)
            return NAN;
        return (float)(random.next() % 4) - 1.0f;
    case ALIKE: return 2.0f;
    case NEGATIVE: return -0.5f - x;
    case RISING: return (float)number * 0.001f;
    default: break;
    }
    switch (how) {
    case SPECIAL: return random.next() % 300 == 0 ? special_float(random) : value;
    case ZEROS: return positive ? 1.0f : -0.0f;
    case TINY: return value * 1e-23f;
    case ORDINARY:
    case FILLS: break;
    }
    return value;
}

/* Which words an INDEX has outside of its range: 0xffffffff and the limit itself. */
uint32_t index_word(uint32_t any, uint32_t limit)
{
    if (any % 11 != 0)
        return any % limit;
    return any % 2 == 0 ? 0xffffffffu : limit;
}

uint32_t word_for(const operand &o, fill how, random_words &random, uint64_t number)
{
    const uint32_t any = random.next();
    const float x = float_for(o, how, random, number);
    uint32_t word;

    switch (o.what) {
    case INTS: return any % 8 - 4;
    case HIGH: return any | 0x80000000u;
    case LOW: return any >> 1 | 1;
    case INDEX: return index_word(any, o.parameter);
    case INSIDE: return any % o.parameter;
    case LAST_OUTSIDE: return number + 1 == o.count ? o.parameter : any % o.parameter;
    case MODULO: return (uint32_t)(number % o.parameter);
    case FLAGS: return any & 0x01010101u;
    case BITS:
    case DRAWS: return any;
    case IO_ALIKE_WORDS: return o.parameter;
    default: break;
    }
    memcpy(&word, &x, sizeof word);
    return word;
}

size_t bytes_of(const operand &o)
{
    if (o.what == FLAGS || o.what == OUT_BYTES)
        return o.count;
    return o.count * (o.what == DRAWS ? 8 : 4);
}

bool is_output(const operand &o)
{
    return o.what >= OUT_FLOATS;
}

bool is_only_output(const operand &o)
{
    return o.what >= OUT_FLOATS && o.what <= OUT_BYTES;
}

void *make_operand(const operand &o, fill how, uint64_t seed)
{
    random_words random(seed);
    const size_t bytes = bytes_of(o);
    void *const start = tlm_host_alloc(bytes);

    if (start == nullptr || is_only_output(o))
        return start;
    tlm_host_memory_open();
    for (size_t at = 0; at < bytes; at += 4) {
        const uint32_t word = word_for(o, how, random, at / 4);
        memcpy((char *)start + at, &word, bytes - at < 4 ? bytes - at : 4);
    }
    tlm_host_memory_close();
    tlm_host_mark_initialised(start, bytes);
    return start;
}

/* ---- results */

/* All NaNs that arithmetic makes are one: their bits depend on the order of operands in machine
   code.  What nobody wrote is no such NaN. */
uint32_t plain_nan(uint32_t word)
{
    const bool nan = (word & 0x7fffffffu) > 0x7f800000u;

    return nan && word != 0xffffffffu ? 0x7fc00000u : word;
}

void add_to_hash(uint64_t &hash, const operand &o, const void *start)
{
    const bool floats = o.what == OUT_FLOATS || o.what == IO_FLOATS || o.what == IO_POSITIVE;
    const size_t bytes = bytes_of(o);

    for (size_t at = 0; at < bytes; at += 4) {
        uint32_t word = 0;
        memcpy(&word, (const char *)start + at, bytes - at < 4 ? bytes - at : 4);
        hash = (hash ^ (floats ? plain_nan(word) : word)) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
}

struct result {
    bool failed; /* the launch */
    uint64_t hash;
};

result run(const test_case &c, const struct tlm_host_kernel &kernel, fill how)
{
    std::vector<uint64_t> args; /* the struct: each field in 8 bytes, which pointers need anyway */
    result r = { false, UINT64_C(0xcbf29ce484222325) };
    uint64_t seed = 1;

    for (const operand &o : c.operands) {
        seed += 77;
        if (o.what == NOTHING || o.what == VALUE)
            args.push_back(o.parameter);
        else
            args.push_back((uint64_t)make_operand(o, how, seed));
    }
    if (args.size() * 8 != (kernel.arg_bytes + 7) / 8 * 8) {
        fprintf(stderr, "%s: %zu operands do not fill %zu bytes\n", c.kernel, args.size(),
                kernel.arg_bytes);
        return { true, 0 };
    }
    r.failed = tlm_host_run(kernel.name, kernel.run, args.data(), kernel.arg_bytes,
                            dim3((unsigned)c.blocks), dim3(TLMK_THREADS), 0) != cudaSuccess;
    tlm_host_memory_open();
    for (size_t i = 0; i < args.size(); i++) {
        if (is_output(c.operands[i]))
            add_to_hash(r.hash, c.operands[i], (void *)args[i]);
    }
    tlm_host_memory_close();
    for (size_t i = 0; i < args.size(); i++) {
        if (c.operands[i].what != NOTHING && c.operands[i].what != VALUE)
            tlm_host_free((void *)args[i]);
    }
    return r;
}

/* ---- all of them */

struct wanted_run {
    std::string kernel, fill;
    uint64_t hash;
};

std::vector<wanted_run> read_wanted(const char *path)
{
    std::vector<wanted_run> all;
    char kernel[100], how[20];
    unsigned long long hash;
    FILE *file = fopen(path, "r");

    while (file != nullptr && fscanf(file, "%99s %19s %llx", kernel, how, &hash) == 3)
        all.push_back({ kernel, how, hash });
    if (file != nullptr)
        fclose(file);
    return all;
}

/* "wrong,race": empty when nothing is to be seen. */
std::string seen_in(const result &r, uint64_t wanted)
{
    std::string kinds;

    for (unsigned kind = 0; kind < TLM_HOST_KINDS; kind++) {
        if (tlm_host_count((tlm_host_kind)kind) != 0)
            kinds += std::string(",") + tlm_host_kind_name((tlm_host_kind)kind);
    }
    if (r.failed)
        kinds += ",failed";
    if (r.hash != wanted)
        kinds += ",wrong";
    return kinds.empty() ? kinds : kinds.substr(1);
}

class comparison
{
  public:
    explicit comparison(const char *path) : printing_(path == nullptr)
    {
        if (!printing_)
            wanted_ = read_wanted(path);
    }

    /* Exit status of all runs under one schedule. */
    int run_all(const char *schedule, bool first)
    {
        size_t at = 0;

        tlm_host_schedule(schedule);
        for (const test_case &c : cases_) {
            const struct tlm_host_kernel *const kernel = tlm_host_find_kernel(c.kernel);
            for (unsigned how = 0; kernel != nullptr && how < FILLS; how++) {
                if (c.how != ALL && how != ORDINARY)
                    continue;
                const size_t number = at++;
                if (!first && (c.how == LONG || how != ORDINARY))
                    continue;
                const int status = run_one(c, *kernel, (fill)how, number, schedule);
                if (status != 0)
                    return status;
            }
        }
        return !printing_ && at != wanted_.size() ? 2 : 0;
    }

  private:
    int run_one(const test_case &c, const struct tlm_host_kernel &kernel, fill how, size_t number,
                const char *schedule)
    {
        const result r = run(c, kernel, how);

        if (number >= wanted_.size() && printing_) {
            wanted_.push_back({ c.kernel, fill_names[how], r.hash });
            printf("%s %s %016llx\n", c.kernel, fill_names[how], (unsigned long long)r.hash);
        }
        if (number >= wanted_.size() || wanted_[number].kernel != c.kernel)
            return 2;
        const std::string seen = seen_in(r, wanted_[number].hash);
        if (seen.empty())
            return 0;
        fprintf(printing_ ? stderr : stdout, "%s %s\n", seen.c_str(), c.kernel);
        if (printing_)
            fprintf(stderr, "%s, %s: %s\n", schedule, fill_names[how],
                    tlm_host_total() != 0 ? tlm_host_text(0) : "");
        return 1;
    }

    const std::vector<test_case> cases_ = all_cases();
    std::vector<wanted_run> wanted_;
    const bool printing_;
};

} // namespace

int main(int argc, char **argv)
{
    comparison compare(argc > 1 ? argv[1] : nullptr);
    int status = 0;

    tlm_host_quiet(1);
    for (const char *schedule : { "in-order", "reversed", "random:1" }) {
        if (status == 0)
            status = compare.run_all(schedule, strcmp(schedule, "in-order") == 0);
    }
    return status;
}
