# netns.sh - hosts with addresses of their own: network namespaces on a switch, which is where dlaunch runs.
#
# After tap.sh.  netns_make NAME... makes hosts 10.93.0.2, 10.93.0.3 and so on (false where that cannot be done; $T/netns
# says why); `netns_in NAME COMMAND...` runs a command on one, `netns_in switch` on the switch, 10.93.0.1.
# netns_link NAME up|down plugs in or pulls the cable of a host; of all, and of who is on the switch, when it is "switch".
# netns_away takes all away again.
netns_all=

netns_of() { echo "tally$$$1"; }
netns_in() {
	local name
	name=$(netns_of "$1")
	shift
	ip netns exec "$name" "$@"
}

netns_add() {
	local s h i=1
	s=$(netns_of switch)
	netns_all="$s"
	ip netns add "$s" && ip -n "$s" link set lo up && ip -n "$s" link add name br0 type bridge && ip -n "$s" link set br0 up &&
		ip -n "$s" addr add 10.93.0.1/24 dev br0 || return 1
	for h; do
		i=$((i + 1))
		netns_all="$netns_all $(netns_of "$h")"
		ip netns add "$(netns_of "$h")" && ip -n "$(netns_of "$h")" link set lo up &&
			ip -n "$s" link add name "to$h" type veth peer name eth0 netns "$(netns_of "$h")" &&
			ip -n "$s" link set "to$h" master br0 up &&
			ip -n "$(netns_of "$h")" addr add "10.93.0.$i/24" dev eth0 && ip -n "$(netns_of "$h")" link set eth0 up || return 1
	done
}
netns_make() {
	[ "$(id -u)" = 0 ] || { echo "not root" >"$T/netns"; return 1; }
	netns_add "$@" >"$T/netns" 2>&1
}
netns_link() {
	local link=to$1
	[ "$1" != switch ] || link=br0
	ip -n "$(netns_of switch)" link set "$link" "$2"
}
netns_away() {
	local n
	for n in $netns_all; do ip netns del "$n" 2>/dev/null; done
	netns_all=
}
