#!/usr/bin/env bash
# test.sh [PACKAGE…] runs every test of the packages in random order, and ends with the count. Without a package it runs all, and
# those of the tools. Most run under the race detector; beside them, since both wait much, run the long ones without it. A
# failure keeps nothing else from running; an interruption ends all that was begun.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Long stories of many parts, whose parts are raced by other tests, and long searches and simulations of one goroutine, in
# which nothing races: minutes without the race detector, and several times that with it; with it
# TestThousandsOfHangingShadows would take fewer.
long=(
	# web
	EveryPageIsForEveryone PeopleUseTheDashboard APageLeftOpenDoesNotGrow NoLinkLeadsNowhere NumbersOpenWhatTheyCount
	# cmd/shadowdiff
	APreviewHoldsOnAShop NothingThatIsReadHoldsASecret DemoFindsTheFaultsAndNothingElse WhatOthersRecordedIsReplayed
	GarbageIsCountedNamedAndSkipped TheReplayPageIsFollowed
	# multicast
	ThousandsOfHangingShadows
	# store
	AMonthStaysUnderTheSize KillLosesAtMostASecond
	# diff
	AlignmentOfLongArrays ChanceSeparatesNothing ASumOfProxiesMarksNoNoise 'ThePromiseIsKeptFor[A-Za-z]+' HostileValuesAreBounded
	HostileBodiesCarryLittle BoundsOfMatching PatchesAreBounded
	# normalize
	RulesTakeLinearTime EveryVerbReachesTheBottom HostileDocuments NamesAreBounded ManyToleratedValuesAreMatchedInFewSteps
)
long_packages=(./web ./cmd/shadowdiff ./multicast ./store ./diff ./normalize)
is_long="^Test($(IFS='|' && echo "${long[*]}"))\$"

# The race detector watches everything but SQLite's own C, which modernc.org has translated into Go: what the driver is handed
# stays watched, and tests of the store take a fifth of the time.
unraced=(-gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc/...=-race=false -gcflags=modernc.org/memory=-race=false)

tools=(tools tools/peers tools/verdict)
if [ $# -gt 0 ]; then
	long_packages=("$@")
	tools=()
else
	set -- ./...
fi

tests=(test -json -shuffle=on -timeout 15m)

# beside runs the long tests, and those of the tools.
beside() {
	local failed=0
	go "${tests[@]}" -p 1 -run "$is_long" "${long_packages[@]}" || failed=1
	for module in ${tools[@]+"${tools[@]}"}; do
		go -C "$module" "${tests[@]}" -race ./... || failed=1
	done
	return $failed
}

# shellcheck disable=SC2317 # the trap calls it
clear_away() {
	local group
	for group in $(jobs -pr); do
		kill -- "-$group" || true
	done
	rm -rf "$work"
}

go -C tools build -o ../bin/testcount ./testcount
work=$(mktemp -d)
mkfifo "$work/events"

# Each part is a process group, which ends with all that it has begun.
set -m
trap clear_away EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
bin/testcount <"$work/events" &
count=$!
beside </dev/null >"$work/beside" 2>&1 &
beside=$!
exec 3>"$work/events"
go "${tests[@]}" -race "${unraced[@]}" -skip "$is_long" "$@" </dev/null >&3 2>&1 &
raced=$!

# What ran beside is counted last, since the events of one package must not mingle.
failed=0
wait $raced || failed=1
wait $beside || failed=1
cat "$work/beside" >&3
exec 3>&-
wait $count || failed=1
exit $failed
