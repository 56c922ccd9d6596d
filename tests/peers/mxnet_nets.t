#!/usr/bin/env bash
# mxnet_nets.t - does our resnet compute what MXNet's model zoo computes with the same weights?  PEER_MXNET: its python.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1

if [ -z "${PEER_MXNET:-}" ]; then
	skip "MXNet's resnet50_v2" "PEER_MXNET names no python"
	done_testing
fi
mkdir v2
status 0 "MXNet runs" "$PEER_MXNET" "$TOP/tests/peers/mxnet_nets.py" v2
# The zoo's eps is not that of mxnet's example, which is ours.
status 0 "and the cpu engine" "$BUILD/tests/peers/logits" cpu resnet v2 layers 50 eps 1e-5
sed 's/^/# /' out
ok "equal logits" awk '$1 == "logits" { good = $2 ~ /^[0-9]/ && $2 < 1e-4 } END { exit !good }' out
status 0 "and in bf16" "$BUILD/tests/peers/logits" bf16 resnet v2 layers 50 eps 1e-5
sed 's/^/# /' out
ok "logits near those" awk '$1 == "logits" { good = $2 ~ /^[0-9]/ && $2 < 2e-2 } END { exit !good }' out
done_testing
