/* What the tests of the PTX interpreter share: one instruction as a kernel of its own, run over
   arrays of operands; values where arithmetic is special; texts as modules. */
#ifndef TLM_PTX_TEST_H
#define TLM_PTX_TEST_H

#include "ptx.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <setjmp.h>
#include <stdarg.h>

extern "C" {
#include <cmocka.h>
}

inline uint64_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline float float_of(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float x;

    memcpy(&x, &low, sizeof x);
    return x;
}

inline double double_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Equal bits, or both NaN. */
inline bool same_float(uint64_t a, uint64_t b)
{
    return a == b || (std::isnan(float_of(a)) && std::isnan(float_of(b)));
}

inline bool same_double(uint64_t a, uint64_t b)
{
    return a == b || (std::isnan(double_of(a)) && std::isnan(double_of(b)));
}

inline uint64_t next_random(uint64_t &state)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

inline std::string ptx_head()
{
    return ".version 8.0\n.target sm_80\n.address_size 64\n";
}

/* A module that must load, for the time of a scope. */
class Module
{
  public:
    explicit Module(const std::string &text)
    {
        char error[PTX_ERROR_BYTES] = "";

        module = ptx_load(text.data(), text.size(), error);
        if (module == nullptr)
            fail_msg("%s\n%s", error, text.c_str());
    }
    ~Module()
    {
        ptx_free(module);
    }
    Module(const Module &) = delete;
    Module &operator=(const Module &) = delete;

    const ptx_kernel *kernel(const char *name) const
    {
        const ptx_kernel *const found = ptx_find(module, name);

        if (found == nullptr)
            fail_msg("no kernel %s", name);
        return found;
    }

    ptx_module *module;
};

inline ptx_launch launch_of(uint32_t blocks, uint32_t threads, void *const *args)
{
    ptx_launch launch = {};

    launch.grid[0] = blocks;
    launch.block[0] = threads;
    launch.grid[1] = launch.grid[2] = launch.block[1] = launch.block[2] = 1;
    launch.args = args;
    return launch;
}

#endif
