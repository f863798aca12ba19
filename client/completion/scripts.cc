#include "client/completion/scripts.h"

namespace ddp {

namespace {

constexpr char kBash[] = R"sh(# For bash: source <(ddpctl completion bash)
_ddpctl() {
  local words=() lines=() line last glue="" cut i
  # Bash cuts words at = and :, ddpctl wants them whole.
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    if ((i > 1)) && [[ -n $glue || ${COMP_WORDS[i]} == [=:]* ]]; then
      words[-1]+=${COMP_WORDS[i]}
    else
      words+=("${COMP_WORDS[i]}")
    fi
    glue=
    [[ ${COMP_WORDS[i]} == *[=:] ]] && glue=1
  done
  last=${words[-1]}
  cut=${last%"${last##*[=:]}"}
  COMPREPLY=()
  mapfile -t lines < <("${1/#\~/$HOME}" __complete -- "${words[@]}" 2>/dev/null)
  for line in "${lines[@]}"; do
    case $line in
      :files | :folders)
        compopt -o filenames
        local action=-f
        [[ $line == :folders ]] && action=-d
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$action" -- "${last#"$cut"}")
        ;;
      *)
        line=${line%%$'\t'*}
        COMPREPLY+=("${line#"$cut"}")
        ;;
    esac
  done
}
complete -F _ddpctl ddpctl
)sh";

constexpr char kZsh[] = R"sh(#compdef ddpctl
# For zsh: source <(ddpctl completion zsh), after compinit; or as a file _ddpctl in a folder of $fpath
_ddpctl() {
  local line
  local -a values shown
  for line in "${(@f)$("${(Q)words[1]}" __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files)
        compset -P '--*='
        _files
        ;;
      :folders)
        compset -P '--*='
        _files -/
        ;;
      *)
        values+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
        ;;
    esac
  done
  ((${#values})) && compadd -l -d shown -a values
}
if [[ ${funcstack[1]} == _ddpctl ]]; then
  _ddpctl "$@"
else
  compdef _ddpctl ddpctl
fi
)sh";

constexpr char kFish[] = R"sh(# For fish: ddpctl completion fish | source
function __ddpctl_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l lead (string match -r -- '^--[^=]*=' "$last")
    set -l rest (string replace -- "$lead" "" "$last")
    for line in ($words[1] __complete -- $words[2..-1] "$last" 2>/dev/null)
        switch $line
            case :files
                for path in (__fish_complete_path "$rest")
                    echo "$lead$path"
                end
            case :folders
                for path in (__fish_complete_directories "$rest" "")
                    echo "$lead$path"
                end
            case '*'
                echo $line
        end
    end
end
complete -c ddpctl -f -a '(__ddpctl_complete)'
)sh";

}  // namespace

std::string CompletionScript(const std::string& shell) {
  return shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
}

}  // namespace ddp
