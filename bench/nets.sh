#!/usr/bin/env bash
# nets.sh - the nets that come along, with the options that make others of them: weights, arrays, running statistics, and
# millions of multiply-adds of an image, from the graph.  tests/lib/nets_test.c holds them to what MXNet and torchvision have.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-$PWD/build}

printf 'net\tweights\tarrays\tstatistics\tM multiply-adds\n'
while read -r net; do
	# shellcheck disable=SC2086
	"$BUILD/pworker" --net $net --print |
		sed -n 's/^\([0-9]*\) weights in \([0-9]*\) arrays, \([0-9]*\) running .*, \([0-9.]*\) M .*/\1\t\2\t\3\t\4/p' |
		sed "s/^/$net\t/"
done <<'END'
mlp
mlp --widths 200,100,50,25 --act elu
lenet
lenet --variant bn
inception
inception-bn
inception-bn --shape 3x227x227
inception-bn --variant full
resnet --layers 20
resnet --layers 32
resnet --layers 44
resnet --layers 50 --shape 3x28x28
resnet --layers 56
resnet --layers 110
resnet --layers 164
resnet --layers 18
resnet --layers 34
resnet --layers 50
resnet --layers 101
resnet --layers 152
resnet --layers 200
resnet --layers 269
resnet --variant small
resnet --variant small --layers 110
resnet --variant post --layers 18
resnet --variant post --layers 34
resnet --variant post --layers 50
resnet --variant post --layers 101
resnet --variant post --layers 152
vgg --layers 11
vgg --layers 13
vgg --layers 16
vgg --layers 19
vgg --layers 11 --norm bn
vgg --layers 13 --norm bn
vgg --layers 16 --norm bn
vgg --layers 19 --norm bn
vgg --layers 16 --shape 3x32x32 --classes 10
alexnet
alexnet --pools floor
alexnet --groups 2 --shape 3x227x227
alexnet --variant torch
googlenet
googlenet --variant torch
fast
END
