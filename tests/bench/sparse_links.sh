#!/bin/sh
# Hosts with slow links on one machine: a network namespace a rank, joined by a bridge; each end
# lets through RATE in each direction. As root:
#   sparse_links.sh up RANKS RATE      e.g. up 8 1gbit; RATE none: unlimited
#   sparse_links.sh down RANKS
#   sparse_links.sh flags RANKS        the arguments for sparse_bench
set -eu
ranks=$2
each() { seq 0 $((ranks - 1)); }
case $1 in
  up)
    ip link add rondo-bridge type bridge
    ip link set rondo-bridge up
    for rank in $(each); do
      ip netns add "rondo-$rank"
      ip link add "rondo-out-$rank" type veth peer name eth0 netns "rondo-$rank"
      ip link set "rondo-out-$rank" master rondo-bridge up
      ip -n "rondo-$rank" link set lo up
      ip -n "rondo-$rank" addr add "10.66.0.$((rank + 1))/24" dev eth0
      ip -n "rondo-$rank" link set eth0 up
      if [ "$3" != none ]; then
        tc -n "rondo-$rank" qdisc add dev eth0 root tbf rate "$3" burst 64kb latency 50ms
        tc qdisc add dev "rondo-out-$rank" root tbf rate "$3" burst 64kb latency 50ms
      fi
    done
    ;;
  down)
    for rank in $(each); do ip netns del "rondo-$rank" || true; done
    ip link del rondo-bridge
    ;;
  flags)
    printf -- '--netns'
    for rank in $(each); do printf ' rondo-%s' "$rank"; done
    printf -- ' --bind'
    for rank in $(each); do printf ' 10.66.0.%s' "$((rank + 1))"; done
    printf '\n'
    ;;
esac
