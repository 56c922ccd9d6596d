#!/usr/bin/env bash
# im2rec.sh - MXNet's im2rec in C++ built from its sources, with dmlc-core's and the system's OpenCV.
#
#	bench/peers/im2rec.sh MXNET DMLC-CORE PROGRAM
#
# The first two are folders of https://github.com/apache/mxnet at 1.9.1 and https://github.com/dmlc/dmlc-core.  Debian's
# libopencv-imgcodecs-dev and libopencv-imgproc-dev suffice: one header with both stands in for opencv.hpp, and the names
# that OpenCV 4 dropped are given on the command line.
set -eu
mxnet=$1 dmlc=$2 program=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/opencv2"
printf '#include <opencv2/%s.hpp>\n' core imgcodecs imgproc >"$dir/opencv2/opencv.hpp"
io=("$dmlc"/src/io/{filesys,local_filesys,input_split_base,line_split,recordio_split,indexed_recordio_split}.cc)
c++ -O3 -std=c++14 -fopenmp -DDMLC_USE_CXX11=1 -DDMLC_LOG_STACK_TRACE=0 \
	-DCV_LOAD_IMAGE_COLOR=cv::IMREAD_COLOR -DCV_INTER_LINEAR=cv::INTER_LINEAR \
	-DCV_IMWRITE_PNG_COMPRESSION=cv::IMWRITE_PNG_COMPRESSION -DCV_IMWRITE_JPEG_QUALITY=cv::IMWRITE_JPEG_QUALITY \
	-I"$dir" -I"$dmlc/include" -I/usr/include/opencv4 "$mxnet/tools/im2rec.cc" "$dmlc/src/recordio.cc" "$dmlc/src/io.cc" \
	"${io[@]}" -o "$program" -lopencv_imgcodecs -lopencv_imgproc -lopencv_core -lpthread
