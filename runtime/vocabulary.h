/* Text to tokens and back.  Bytes: a token is a byte.  A vocabulary file has one token a line, its
   number the line's from 0, with the escapes \n \r \t \\ \xHH; text becomes tokens by the longest
   match at each place. */
#ifndef TLM_VOCABULARY_H
#define TLM_VOCABULARY_H

#include "file.h"

struct tlm_vocabulary {
    uint32_t count;
    struct tlm_token {
        const char *text;
        size_t length;
    } * tokens;             /* owned; NULL: bytes */
    struct tlm_bytes bytes; /* what they point into */
};

/* `path` NULL: bytes.  Free also after a failure. */
tlm_status tlm_vocabulary_open(struct tlm_vocabulary *vocabulary, const char *path, char *error);
tlm_status tlm_vocabulary_parse(struct tlm_vocabulary *vocabulary, const char *path, char *error);
void tlm_vocabulary_free(struct tlm_vocabulary *vocabulary);

/* The tokens of `text` into *out (owned, at least one element of room) and *count. */
tlm_status tlm_vocabulary_encode(const struct tlm_vocabulary *vocabulary, const char *text,
                                 size_t length, int32_t **out, size_t *count, char *error);

/* The text of a token; *length bytes. */
const char *tlm_vocabulary_text(const struct tlm_vocabulary *vocabulary, int32_t token,
                                char byte[1], size_t *length);

#endif
