/* What a loaded PTX module says of itself: kernels, parameters, variables. */
#include "ptx_internal.h"

void ptx_free(ptx_module *module)
{
    delete module;
}

uint32_t ptx_target(const ptx_module *module)
{
    return module->target;
}

uint32_t ptx_kernel_count(const ptx_module *module)
{
    return (uint32_t)module->kernels.size();
}

const ptx_kernel *ptx_kernel_at(const ptx_module *module, uint32_t i)
{
    return module->kernels[i].get();
}

const ptx_kernel *ptx_find(const ptx_module *module, const char *name)
{
    for (const std::unique_ptr<ptx_kernel> &kernel : module->kernels) {
        if (kernel->function.name == name)
            return kernel.get();
    }
    return nullptr;
}

const char *ptx_kernel_name(const ptx_kernel *kernel)
{
    return kernel->function.name.c_str();
}

uint32_t ptx_param_count(const ptx_kernel *kernel)
{
    return (uint32_t)kernel->function.params.size();
}

size_t ptx_param_bytes(const ptx_kernel *kernel, uint32_t i)
{
    return kernel->function.params[i].bytes;
}

size_t ptx_param_offset(const ptx_kernel *kernel, uint32_t i)
{
    return kernel->function.params[i].offset;
}

uint32_t ptx_max_threads(const ptx_kernel *kernel)
{
    return kernel->function.max_threads;
}

size_t ptx_shared_bytes(const ptx_kernel *kernel)
{
    return kernel->function.shared_bytes;
}

size_t ptx_local_bytes(const ptx_kernel *kernel)
{
    return kernel->function.local_bytes;
}

void *ptx_variable(const ptx_module *module, const char *name, size_t *bytes)
{
    for (const ptx::Variable &variable : module->variables) {
        if (variable.name == name) {
            if (bytes != nullptr)
                *bytes = variable.bytes;
            return variable.at;
        }
    }
    return nullptr;
}
