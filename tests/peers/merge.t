#!/usr/bin/env bash
# merge.t - what pmerge makes of other programs' files and they of its: every type, odd names, means, batch norm's statistics.
#
# PEER_TORCH is a python that has torchvision and safetensors, PEER_MXNET one that has MXNet 1.9.1.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
peer=$TOP/tests/peers/merge.py

if [ -n "${PEER_TORCH:-}" ]; then
	status 0 "PyTorch writes files of every type" "$PEER_TORCH" "$peer" write .
	set -- a.safetensors b.safetensors c.safetensors
	status 0 "their mean" pmerge -o mean.safetensors "$@"
	status 0 "their weighted mean" pmerge --weights 1:2:5 -o weighted.safetensors "$@"
	status 0 "their moving average" pmerge --ema 0.9 -o ema.safetensors "$@"
	status 0 "PyTorch reads its own numbers there" "$PEER_TORCH" "$peer" read .
	like out '^26$' "... in each of the tensors"
	status 0 "split" pmerge --split 5 -o part a.safetensors
	status 0 "joined" pmerge --join -o whole.safetensors part-*
	status 0 "... the same numbers" pmerge --diff a.safetensors whole.safetensors
	ok "every row of --list has its fields" sh -c "pmerge --list a.safetensors | awk -F'\t' 'NF != 10 { exit 1 } END { exit NR != 27 }'"

	status 0 "torchvision writes a net and pictures" "$PEER_TORCH" "$peer" bn .
	status 0 "pictures to records" im2rec -q -o pictures.rec list.lst .
	status 0 "the net under our names" pmerge --rename from:torch-resnet \
		--drop '*num_batches_tracked' -o ours.safetensors theirs.safetensors
	status 0 "its statistics anew" sh -c 'pworker --statistics ours.safetensors --net resnet --variant post --layers 18 \
		--shape 3x64x64 --classes 10 --data pictures.rec --no-shuffle --batch 8 --mean-rgb 127,127,127 --scale 0.015625 |
		pmerge --rename to:torch-resnet -o new.safetensors -'
	status 0 "torch.optim.swa_utils.update_bn of the same" "$PEER_TORCH" "$peer" updated .
	sed 's/^/# /' out
	ok "... has the same mean, variance of all, and batches' variance" \
		awk '{ exit !(NF == 4 && $2 < 1e-4 && $3 < 1e-4 && $4 < 1e-4) }' out
else
	skip "PyTorch's files" "PEER_TORCH names no python"
fi

if [ -n "${PEER_MXNET:-}" ]; then
	status 0 "Gluon writes two nets" "$PEER_MXNET" "$peer" gluon .
	status 0 "their mean" pmerge -o mean.params a.params b.params
	status 0 "Gluon takes it" "$PEER_MXNET" "$peer" load .
	status 0 "MXNet writes every type that it has" "$PEER_MXNET" "$peer" lists .
	status 0 "to safetensors" pmerge -o mid.safetensors all.params
	status 0 "and back" pmerge -o back.params mid.safetensors
	status 0 "and at once" pmerge -o as-it-was.params all.params
	status 0 "MXNet reads both" "$PEER_MXNET" "$peer" listed .
	like out '^11$' "... all arrays"
	status 0 "MXNet writes sparse arrays" "$PEER_MXNET" "$peer" sparse .
	for kind in row csr; do
		status 1 "$kind: refused" pmerge -o no.safetensors $kind.params
		like err "^pmerge: $kind\.params: array 1 is sparse\$" "... for what it is"
	done
else
	skip "MXNet's lists" "PEER_MXNET names no python"
fi
done_testing
