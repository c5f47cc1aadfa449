/* Comments of a file, hung on its tree for fmt.  In: the tree with extents and the comments in
   order of place. Out: each comment on the element it stands before or behind, or on the list whose
   end it stands at. */
#include "parse.h"

void tlmc_comments_attach(struct tlmc_parser *p)
{
    (void)p;
}
