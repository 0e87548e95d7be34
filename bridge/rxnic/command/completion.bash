# SPDX-License-Identifier: Apache-2.0
# bash completion for rxnic: commands, options and their choices are what `rxnic [COMMAND] --help` prints.
_rxnic() {
  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command='' n help choices
  for ((n = 1; n < COMP_CWORD; ++n)); do
    [[ ${COMP_WORDS[n]} != -- ]] || return 0  # a program and its arguments
    [[ ${COMP_WORDS[n]} == -* || -n $command ]] || command=${COMP_WORDS[n]}
  done
  help=$("$program" ${command:+"$command"} --help 2>/dev/null) || return 0
  case $before in
    --set)  # sections, and in them keys
      choices=$("$program" params --json 2>/dev/null | sed -n '/^  "/{s/^  "\([a-z_]*\)".*/\1/;h}
        /^    "/{s/^    "\([a-z_0-9]*\)".*/\1=/;G;s/\(.*\)\n\(.*\)/\2.\1/p}') ;;
    --config) choices=$("$program" replay --help 2>/dev/null |
      sed -n 's/.*one of \(nic_[a-z0-9_, ]*\).*/\1/p' | tr -d ',') ;;
    -*) choices=$(sed -n "s/^ *$before [^{]*{\([^}]*\)}.*/\1/p" <<<"$help" | tr ',' ' ') ;;
    *) choices='' ;;
  esac
  if [[ -z $choices && -z $command && $word != -* ]]; then
    choices=$(sed -n '/^Subcommands:/,$s/^  \([a-z]\{1,\}\) .*/\1/p' <<<"$help")
  elif [[ -z $choices && $word == -* ]]; then
    choices=$(grep -oE -- '--[a-z][a-z-]*' <<<"$(sed -n '/^Options:/,$s/^  \(-[^ ]*\).*/\1/p' <<<"$help")")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
  [[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace
  [[ -n $choices ]] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
complete -o filenames -F _rxnic rxnic
