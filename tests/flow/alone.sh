# alone.sh - runs the test that sources it, after tap.sh, in a network of its own; $ALONE says whether it has one: yes or no.
if [ -z "${ALONE:-}" ]; then
	export ALONE=no
	for alone in "unshare -n" "unshare -rn"; do
		$alone ip link set lo up 2>/dev/null || continue
		rm -rf "$T"
		ALONE=yes exec $alone sh -c 'ip link set lo up && exec "$0"' "$0"
	done
fi
