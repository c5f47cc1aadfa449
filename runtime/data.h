/* The data of a run: the files of the data clauses as rows, one source an input of the training
   form.

   Row i of every file belongs together, so all must have the same number.  A row's values fill the
   axes of the input behind the first; element types are exact.  Text and token files stay as they
   are: a row is a window into them. */
#ifndef TLM_DATA_H
#define TLM_DATA_H

#include "tlm_program.h"

enum tlm_source_kind {
    TLM_SOURCE_NONE,  /* not fed */
    TLM_SOURCE_ROWS,  /* values: rows one after the other */
    TLM_SOURCE_BYTES, /* values: a text; a row is row_elements bytes of it, as i32 */
    TLM_SOURCE_TOKENS /* values: i32; a row is row_elements of them */
};

struct tlm_source {
    enum tlm_source_kind kind;
    size_t row_elements, row_bytes; /* of the input */
    size_t rows;
    size_t stride, begin; /* of windows, in elements */
    const uint8_t *values;
};

struct tlm_dataset {
    struct tlm_source *sources; /* one an input of the form */
    uint32_t source_count;
    size_t rows;
    void **owned; /* the memory the sources point into */
    size_t owned_count, owned_capacity;
};

/* Reads the files; paths[i] (if i < path_count) stands in for the path of clause i; paths NULL: the
   user cannot name others.  Free also after a failure. */
tlm_status tlm_dataset_load(struct tlm_dataset *dataset, const tlm_form *form,
                            const tlm_data *clauses, uint32_t clause_count,
                            const char *const *paths, uint32_t path_count, char *error);
void tlm_dataset_free(struct tlm_dataset *dataset);

/* The row's values in the input's element type. */
void tlm_source_row(const struct tlm_source *source, size_t row, void *out);

/* Elements of a row of a tensor: the product of its axes behind the first. */
size_t tlm_io_row_elements(const tlm_io *io);
size_t tlm_io_elements(const tlm_io *io);

#endif
