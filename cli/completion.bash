# Completes bwmm in bash. Options and names come from the bwmm that is on the line, so that the
# workloads of one's own are among them.

# The names in the first column of `bwmm list $1`, without a heading.
_bwmm_names() {
  "$_bwmm_program" list "$1" 2>/dev/null | awk -v heading="${1%s}" '
    $1 != heading && $1 != "*" { print $1 == NR - 1 ? $2 : $1 }'
}

# What --help has in its lists: options, or subcommands.
_bwmm_help() {
  "$_bwmm_program" "$@" --help 2>/dev/null |
    awk '/^  [-a-z]/ { sub(/^-h,/, "", $1); print $1 }'
}

_bwmm() {
  local _bwmm_program=${1/#\~\//"$HOME"/} current=$2 previous=$3 command=${COMP_WORDS[1]} i
  local -a workload=() words=()
  # Readline makes --name=value three words.
  [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD - 2]}
  [[ $current == = ]] && current=
  if ((COMP_CWORD == 1)); then
    mapfile -t words < <(_bwmm_help)
  elif [[ $current == -* ]]; then
    for ((i = 2; i + 1 < COMP_CWORD; ++i)); do
      [[ ${COMP_WORDS[i]} == --workload ]] || continue
      [[ ${COMP_WORDS[i + 1]} == = ]] && ((++i))
      workload=(--workload "${COMP_WORDS[i + 1]}")
    done
    mapfile -t words < <(_bwmm_help "$command" "${workload[@]}")
  else
    case $previous in
      --fidelity) words=(rtl fast timing) ;;
      --check) words=(auto on worst_case off) ;;
      --machine) mapfile -t words < <(_bwmm_names machines) ;;
      --model) mapfile -t words < <(_bwmm_names models) ;;
      --variant) mapfile -t words < <(_bwmm_names variants) ;;
      --workload) mapfile -t words < <(_bwmm_names workloads) ;;
      list) words=(workloads models variants machines counters) ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$current")
}

# Nothing of ours: a file.
complete -o default -F _bwmm bwmm
