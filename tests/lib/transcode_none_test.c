/* transcode_none_test - without libjpeg's private header, JPEGs are resized by their planes with the same accuracy. */
#include "image/jpeg/img_jpeg_none.c"

#include "transcode_planes_test.c"
