#!/usr/bin/env bash
# names.t - weights are converted: torchvision's to our nets by share/names and back, MXNet's lists to safetensors and back.
#
# PEER_TORCH is a python that has torchvision and safetensors, PEER_MXNET one that has MXNet 1.9.1.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
peer=$TOP/tests/peers/names.py

travels() { # TORCH'S NAME, TABLE, OURS, OPTIONS...
	rm -rf net && mkdir net
	status 0 "$1: torchvision writes weights" "$PEER_TORCH" "$peer" torch "$1" net
	status 0 "$1: pmerge renames by $2" \
		pmerge --rename "from:$2" --drop '*num_batches_tracked' -o net/weights.safetensors net/theirs.safetensors
	status 0 "$1: the cpu engine computes logits" "$BUILD/tests/peers/logits" cpu "$3" net "${@:4}"
	sed 's/^/# /' out
	ok "$1: the logits are equal" awk '$1 == "logits" { good = $2 ~ /^[0-9]/ && $2 < 1e-4 } END { exit !good }' out
	status 0 "$1: pmerge restores torchvision's names" \
		pmerge --rename "to:$2" -o net/back.safetensors net/weights.safetensors
	status 0 "$1: torchvision loads the restored file" "$PEER_TORCH" "$peer" back "$1" net
}

if [ -n "${PEER_TORCH:-}" ]; then
	travels resnet18 torch-resnet resnet variant post layers 18
	travels resnet50 torch-resnet resnet variant post layers 50
	travels vgg11_bn torch-vgg11-bn vgg layers 11 norm bn
	travels vgg13 torch-vgg13 vgg layers 13
	travels vgg19_bn torch-vgg19-bn vgg layers 19 norm bn
	travels alexnet torch-alexnet alexnet variant torch
	travels googlenet torch-googlenet googlenet variant torch
else
	skip "torchvision's weights" "PEER_TORCH names no python"
fi

if [ -n "${PEER_MXNET:-}" ]; then
	mkdir mx
	status 0 "MXNet writes a list" "$PEER_MXNET" "$peer" write mx
	status 0 "pmerge converts the list to safetensors" pmerge -o mx/mid.safetensors mx/theirs.params
	status 0 "pmerge converts the safetensors to a list" pmerge -o mx/back.params mx/mid.safetensors
	"$BUILD/tests/peers/random" resnet net layers 18 2>/dev/null || { mkdir -p net && "$BUILD/tests/peers/random" resnet net; }
	status 0 "pmerge converts a net of ours to a list" pmerge -o mx/ours.params net/weights.safetensors
	status 0 "MXNet reads both lists" "$PEER_MXNET" "$peer" read mx
	is "$(cat out)" "$(pmerge --list net/weights.safetensors | sed 1d | wc -l) True" "MXNet reads all arrays"
else
	skip "MXNet's lists" "PEER_MXNET names no python"
fi
done_testing
