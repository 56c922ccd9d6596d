#!/usr/bin/env bash
# mxnet_nets.t - our nets compute what MXNet's model zoo and examples compute with the same weights.  PEER_MXNET: its python.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1

if [ -z "${PEER_MXNET:-}" ]; then
	skip "MXNet's nets" "PEER_MXNET names no python"
	done_testing
fi

theirs() { # "NET [ceil] [spread]", TABLE OF NAMES or -
	local rename=()

	[ "$2" = - ] || rename=(--rename "from:$2")
	rm -rf net && mkdir net
	status 0 "$1: MXNet computes logits" "$PEER_MXNET" "$TOP/tests/peers/mxnet_nets.py" ${1%% *} net ${1#* }
	sed 's/^/# MXNet: /' out
	ok "$1: pmerge renames the tensors by $2" pmerge "${rename[@]}" -o net/weights.safetensors net/theirs.params
}
ours() { # WHAT, ENGINE, MOST, NET, OPTIONS...
	status 0 "$1: the $2 engine computes logits" "$BUILD/tests/peers/logits" "$2" "$4" net "${@:5}"
	sed 's/^/# /' out
	ok "$1: equal logits in $2" awk -v most="$3" '$1 == "logits" { good = $2 ~ /^[0-9]/ && $2 < most } END { exit !good }' out
}
# With noise for batch norm's arrays a net amplifies small differences such as rounding to bf16, so it is compared in f32.
same() { # "MXNET'S NET [ceil]", TABLE, OUR NET, OPTIONS...
	theirs "$1" "$2"
	ours "$1" cpu 1e-4 "${@:3}"
	ours "$1" bf16 2e-2 "${@:3}"
	theirs "$1 spread" "$2"
	ours "$1 spread" cpu 1e-4 "${@:3}"
}

# Files of save_parameters(), converted to our names and back.
gluon() { # NET, TABLE, OUR NET, OPTIONS...
	theirs "$1 gluon" "$2"
	ours "$1" cpu 1e-4 "${@:3}"
	status 0 "$1: pmerge restores MXNet's names" pmerge --rename "to:$2" -o net/back.params net/weights.safetensors
	status 0 "$1: MXNet loads the restored file" "$PEER_MXNET" "$TOP/tests/peers/mxnet_nets.py" "$1" net back
}
gluon resnet18_v2 gluon-resnet18-v2 resnet layers 18 shortcuts needed eps 1e-5
gluon resnet50_v2 gluon-resnet50-v2 resnet layers 50 eps 1e-5
gluon vgg11_bn gluon-vgg11-bn vgg layers 11 norm bn
gluon alexnet gluon-alexnet alexnet variant torch

# The zoo's eps is not that of mxnet's example, which is ours.
same resnet18_v2 mxnet-resnet18-v2 resnet layers 18 shortcuts needed eps 1e-5
same resnet50_v2 mxnet-resnet50-v2 resnet layers 50 eps 1e-5
same inception-bn mxnet-inception-bn inception-bn pools floor
same "inception-bn ceil" mxnet-inception-bn inception-bn
same inception mxnet-inception inception pools floor
same "inception ceil" mxnet-inception inception
same resnet20 - resnet layers 20
same resnet164 - resnet layers 164
same small20 - resnet variant small layers 20
done_testing
