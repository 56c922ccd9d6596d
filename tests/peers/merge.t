#!/usr/bin/env bash
# merge.t - pmerge and other programs read each other's files: every type, odd names, means, batch norm's statistics.
#
# PEER_TORCH is a python that has torchvision and safetensors, PEER_MXNET one that has MXNet 1.9.1.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
peer=$TOP/tests/peers/merge.py

if [ -n "${PEER_TORCH:-}" ]; then
	status 0 "PyTorch writes files of every type" "$PEER_TORCH" "$peer" write .
	set -- a.safetensors b.safetensors c.safetensors
	status 0 "pmerge makes their mean" pmerge -o mean.safetensors "$@"
	status 0 "pmerge makes their weighted mean" pmerge --weights 1:2:5 -o weighted.safetensors "$@"
	status 0 "pmerge makes their moving average" pmerge --ema 0.9 -o ema.safetensors "$@"
	status 0 "PyTorch finds its own numbers in pmerge's files" "$PEER_TORCH" "$peer" read .
	like out '^26$' "PyTorch finds them in each of the tensors"
	status 0 "pmerge --split divides a file" pmerge --split 5 -o part a.safetensors
	status 0 "pmerge --join joins the parts" pmerge --join -o whole.safetensors part-*
	status 0 "the joined file has the same numbers" pmerge --diff a.safetensors whole.safetensors
	ok "every row of --list has its fields" sh -c "pmerge --list a.safetensors | awk -F'\t' 'NF != 10 { exit 1 } END { exit NR != 27 }'"

	status 0 "torchvision writes a net and images" "$PEER_TORCH" "$peer" bn .
	status 0 "im2rec packs the images" im2rec -q -o images.rec list.lst .
	status 0 "pmerge renames the net's tensors to ours" pmerge --rename from:torch-resnet \
		--drop '*num_batches_tracked' -o ours.safetensors theirs.safetensors
	status 0 "pworker --statistics computes the net's statistics" \
		sh -c 'pworker --statistics ours.safetensors --net resnet --variant post --layers 18 \
		--shape 3x64x64 --classes 10 --data images.rec --no-shuffle --batch 8 --mean-rgb 127,127,127 --scale 0.015625 |
		pmerge --rename to:torch-resnet -o new.safetensors -'
	status 0 "torch.optim.swa_utils.update_bn computes the same statistics" "$PEER_TORCH" "$peer" updated .
	sed 's/^/# /' out
	ok "both have the same mean, variance of all images, and variance of the batches" \
		awk '{ exit !(NF == 4 && $2 < 1e-4 && $3 < 1e-4 && $4 < 1e-4) }' out
else
	skip "PyTorch's files" "PEER_TORCH names no python"
fi

if [ -n "${PEER_MXNET:-}" ]; then
	status 0 "Gluon writes two nets" "$PEER_MXNET" "$peer" gluon .
	status 0 "pmerge makes the mean of both nets" pmerge -o mean.params a.params b.params
	status 0 "Gluon loads the mean" "$PEER_MXNET" "$peer" load .
	status 0 "MXNet writes every type that it has" "$PEER_MXNET" "$peer" lists .
	status 0 "pmerge converts the list to safetensors" pmerge -o mid.safetensors all.params
	status 0 "pmerge converts the safetensors to a list" pmerge -o back.params mid.safetensors
	status 0 "pmerge converts a list to a list" pmerge -o as-it-was.params all.params
	status 0 "MXNet reads both lists" "$PEER_MXNET" "$peer" listed .
	like out '^11$' "MXNet reads all arrays"
	status 0 "MXNet writes sparse arrays" "$PEER_MXNET" "$peer" sparse .
	for kind in row csr; do
		status 1 "$kind: sparse arrays are refused" pmerge -o no.safetensors $kind.params
		like err "^pmerge: $kind\.params: array 1 is sparse\$" "$kind: the error says that the array is sparse"
	done
else
	skip "MXNet's lists" "PEER_MXNET names no python"
fi
done_testing
