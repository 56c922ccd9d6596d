/* img_jpeg_none_test - without libjpeg's private header, pixels equal turbojpeg's too, and damaged images fail. */
#include "image/jpeg/img_jpeg_none.c"

#include "img_jpeg_fast_test.c"
