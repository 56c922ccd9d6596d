/* img_png_plain_none_test - without the own path of plain PNG, libspng decodes the same pixels and finds the same damage. */
#include "image/img_png_plain_none.c"

#include "img_test.c"
