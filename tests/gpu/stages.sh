# shellcheck shell=bash
# Stages of a script that has a limited time on a card, as first.sh: each has a limit of its own, all of them one together,
# and every line is in one log as soon as it is printed, so that a kill leaves what there was until then. Sourced:
#
#     . "$(dirname "$0")/common.sh"
#     . "$(dirname "$0")/stages.sh"
#     stages_need 'the first minutes on a card'        ends the script where there is no GPU, with a line that says why
#     stages_begin first.log 580           this log; seconds, of all stages
#     stage doctor 10 "$SHARDLAB" doctor   a stage, and the seconds that it may take
#     stages_end first                     a line a stage, and the row, if one is named; the exit status
#
# A stage's lines are followed by "@stage NAME RESULT SECONDS", RESULT: ok, status N, stopped, left out. What it printed is
# in $folder/NAME.out too.
#
# Settings: STAGES (all: the names of those that are wanted), TOTAL_SECONDS (of all).
stage_names=() stage_results=() stages_failed=0

# stages_need WHAT: begin() of common.sh, whose line of the run goes into the log later.
stages_need() {
	local said status=0
	said=$(begin "$1") || status=$?
	[[ $status = 0 && $said == @run* ]] && return
	echo "$said"
	exit "$status"
}

# stages_begin LOG SECONDS
stages_begin() {
	stage_log=$1
	stages_until=$((SECONDS + ${TOTAL_SECONDS:-$2}))
	: >"$stage_log" || exit 2
	printf '@run\t%s\t%s\t%s\t%s\n' "$(gpu_fact name)" "$(driver_version)" "$(date +%F)" "${COMMAND:?}" | tee -a "$stage_log"
}

# stage_ended NAME RESULT SECONDS
stage_ended() {
	[ -z "$(tail -c 1 "$stage_log")" ] || say '' # it was stopped in the middle of a line
	stage_names+=("$1")
	stage_results+=("$2, $3 s")
	[ "$2" = ok ] || stages_failed=$((stages_failed + 1))
	printf '@stage\t%s\t%s\t%s\n' "$1" "$2" "$3" | tee -a "$stage_log"
}

# stage NAME SECONDS COMMAND...
stage() {
	local name=$1 limit=$2 status=0 began=$SECONDS lines=()
	shift 2
	[[ " ${STAGES:-$name} " == *" $name "* ]] || return 0
	[ "$limit" -le $((stages_until - SECONDS)) ] || limit=$((stages_until - SECONDS))
	if [ "$limit" -lt 5 ]; then
		stage_ended "$name" 'left out: no time' 0
		return
	fi
	echo "== $name" | tee -a "$stage_log"
	# A line is written when it is printed, not when a buffer is full. What a stage leaves running may hold its output open.
	command -v stdbuf >/dev/null && lines=(stdbuf -oL -eL)
	IN_STAGE=$name timeout -k 5 "$limit" "${lines[@]}" "$@" 2>&1 |
		timeout --foreground $((limit + 8)) tee -a "$stage_log" "$folder/$name.out"
	status=${PIPESTATUS[0]}
	case $status in
	0) stage_ended "$name" ok $((SECONDS - began)) ;;
	124 | 137) stage_ended "$name" "stopped after $limit s" $((SECONDS - began)) ;;
	*) stage_ended "$name" "status $status" $((SECONDS - began)) ;;
	esac
}

# say LINE: of the script's own, into the log too.
say() {
	printf '%s\n' "$1" | tee -a "$stage_log"
}

# stages_end [ROW]
stages_end() {
	local i all=${#stage_names[@]}
	for i in "${!stage_names[@]}"; do say "$(printf '%-12s %s' "${stage_names[i]}" "${stage_results[i]}")"; done
	[ -z "${1-}" ] || say "$(row "$1" "$((all - stages_failed)) of $all stages ended well")"
	return $((stages_failed > 0))
}
