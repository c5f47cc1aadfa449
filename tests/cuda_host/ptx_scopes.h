/* Names of a PTX text and what they stand for, scope inside scope: registers (one by one, or
   %r<20>) and symbols of memory. */
#ifndef TLM_PTX_SCOPES_H
#define TLM_PTX_SCOPES_H

#include "ptx_internal.h"

#include <cstdlib>

namespace ptx
{

struct Register {
    int32_t number;
    uint8_t bits;
};

struct RegisterRange { /* %r<20> */
    int32_t first;
    uint32_t count;
    uint8_t bits;
};

struct Symbol {
    Space space;
    uint64_t value;
    bool dynamic;      /* shared memory whose size the launch says */
    bool by_name_only; /* a parameter of a call: memory without an address */
};

struct Scope {
    std::map<std::string, Register> registers;
    std::map<std::string, RegisterRange> ranges;
    std::map<std::string, Symbol> symbols;
};

inline const char *const special_names[SPECIALS] = {
    "%tid.x",   "%tid.y",   "%tid.z",    "%ntid.x",   "%ntid.y",   "%ntid.z", "%ctaid.x",
    "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%warpid"
};

class Scopes
{
  public:
    void open()
    {
        list_.emplace_back();
    }
    void close()
    {
        list_.pop_back();
    }
    size_t depth() const
    {
        return list_.size();
    }
    Scope &inner()
    {
        return list_.back();
    }

    /* Both give the depth of the scope, 0: not found. */
    size_t find_register(const std::string &name, Register &found) const
    {
        for (int32_t i = 0; i < SPECIALS; i++) {
            if (name == special_names[i]) {
                found = { i, 32 };
                return list_.size();
            }
        }
        const size_t digits = name.find_last_not_of("0123456789") + 1;
        for (size_t depth = list_.size(); depth > 0; depth--) {
            const Scope &scope = list_[depth - 1];
            const auto one = scope.registers.find(name);
            if (one != scope.registers.end()) {
                found = one->second;
                return depth;
            }
            if (digits == name.size() || name.size() - digits > 6)
                continue;
            const auto range = scope.ranges.find(name.substr(0, digits));
            if (range == scope.ranges.end())
                continue;
            const uint32_t i = (uint32_t)strtoul(name.c_str() + digits, nullptr, 10);
            if (i >= range->second.count)
                return 0;
            found = { range->second.first + (int32_t)i, range->second.bits };
            return depth;
        }
        return 0;
    }

    size_t find_symbol(const std::string &name, const Symbol *&found) const
    {
        for (size_t depth = list_.size(); depth > 0; depth--) {
            const auto symbol = list_[depth - 1].symbols.find(name);
            if (symbol != list_[depth - 1].symbols.end()) {
                found = &symbol->second;
                return depth;
            }
        }
        return 0;
    }

  private:
    std::vector<Scope> list_;
};

} // namespace ptx
#endif
