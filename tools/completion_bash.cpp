// Completion for bash: a table of verbs and options, and code that searches it. Needs bash 4, not bash-completion.
#include "tools/completion.h"
#include "tools/verbs.h"

namespace sheaf {
namespace {

// Words of the table: NAME=KIND, where KIND is one word of value_kind(), or the choices separated by |.
constexpr const char* kHead = R"bash(# bash completion for sheaf, printed by `sheaf completion bash`.
# In ~/.bashrc: source <(sheaf completion bash)

# Files whose names end as $1 says, where there are any, else all; and folders.
_sheaf_files() {
  local found
  mapfile -t found < <(compgen -f -X "!*@($1)" -- "$value"; compgen -d -- "$value")
  [[ ${#found[@]} -gt 0 ]] || mapfile -t found < <(compgen -f -- "$value")
  COMPREPLY=("${found[@]}")
  compopt -o filenames 2>/dev/null
}

# Completes $value, which is of kind $1.
_sheaf_value() {
  local left=
  case $1 in
    none) ;;
    file) mapfile -t COMPREPLY < <(compgen -f -- "$value"); compopt -o filenames 2>/dev/null ;;
    directory) mapfile -t COMPREPLY < <(compgen -d -- "$value"); compopt -o filenames 2>/dev/null ;;
    model) _sheaf_files '*.json' ;;
    plan) _sheaf_files '*.plan' ;;
    model_or_plan) _sheaf_files '*.json|*.plan' ;;
    verb) mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$value") ;;
    devices)  # the last entry of a list
      [[ $value != *,* ]] || left=${value%,*},
      mapfile -t COMPREPLY < <(compgen -W "$devices" -P "$left" -- "${value##*,}")
      compopt -o nospace 2>/dev/null ;;
    source)  # NAME=SOURCE: what stands behind the name
      [[ $value == *=* ]] || return
      left=${value%%=*}=
      mapfile -t COMPREPLY < <(compgen -W "$sources" -P "$left" -- "${value#*=}"; compgen -f -P "$left" -- "${value#*=}")
      compopt -o nospace 2>/dev/null ;;
    *) mapfile -t COMPREPLY < <(compgen -W "${1//|/ }" -- "$value") ;;
  esac
}

_sheaf() {
  shopt -q extglob || { local restore=1; shopt -s extglob; }
  # Readline splits words at = and : too; here a word is what stands between spaces.
  local line=${COMP_LINE:0:COMP_POINT} current='' value before verb entry kind='' options='' place=0 i
  local -a words
  read -a words <<<"$line"
  if [[ $line != *[[:space:]] ]]; then
    current=${words[-1]}
    unset 'words[-1]'
  fi
  value=$current
  COMPREPLY=()
)bash";

constexpr const char* kTail = R"bash(  if [[ ${#words[@]} -lt 2 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$verbs --help --version" -- "$current")
  else
    # The kind of the value that an option before the cursor awaits; or how many arguments stand there.
    for ((i = 2; i < ${#words[@]}; ++i)); do
      kind=
      if [[ ${words[i]} == -* ]]; then
        for entry in $table; do
          [[ ${entry%%=*} != "${words[i]}" || $entry == *=flag ]] || { kind=${entry#*=}; ((++i)); break; }
        done
        [[ $i -lt ${#words[@]} ]] || break
        kind=
      else
        ((++place))
      fi
    done
    before=
    if [[ -z $kind && $current == --*=* ]]; then
      for entry in $table; do
        [[ ${entry%%=*} != "${current%%=*}" || $entry == *=flag ]] || kind=${entry#*=}
      done
      before=${current%%=*}=
      value=${current#*=}
    fi
    if [[ -n $kind ]]; then
      _sheaf_value "$kind"
      COMPREPLY=("${COMPREPLY[@]/#/$before}")
    elif [[ $current == -* ]]; then
      for entry in $table; do options+=" ${entry%%=*}"; done
      mapfile -t COMPREPLY < <(compgen -W "$options --help" -- "$current")
    else
      set -- $places
      shift "$place" 2>/dev/null || set --
      [[ $# -eq 0 ]] || _sheaf_value "$1"
    fi
  fi
  # Readline keeps what stands before the last = or : of the word.
  local break_at trim='' most=''
  for break_at in : =; do
    [[ $COMP_WORDBREAKS == *$break_at* && $current == *$break_at* ]] || continue
    trim=${current%"${current##*$break_at}"}
    [[ ${#trim} -le ${#most} ]] || most=$trim
  done
  COMPREPLY=("${COMPREPLY[@]#"$most"}")
  [[ -z ${restore-} ]] || shopt -u extglob
}
complete -F _sheaf sheaf
)bash";

std::string kind_word(const OptionInfo& option) {
  switch (value_kind(option)) {
    case ValueKind::none: return "none";
    case ValueKind::verb: return "verb";
    case ValueKind::file: return "file";
    case ValueKind::model: return "model";
    case ValueKind::plan: return "plan";
    case ValueKind::model_or_plan: return "model_or_plan";
    case ValueKind::directory: return "directory";
    case ValueKind::devices: return "devices";
    case ValueKind::source: return "source";
    case ValueKind::choice: break;
  }
  std::string words;
  for (const std::string& choice : option.choices) words += (words.empty() ? "" : "|") + choice;
  return option.choices.size() == 1 ? words + "|" : words;
}

}  // namespace

std::string bash_completion() {
  std::string names, cases;
  for (const Verb& verb : verbs()) {
    const OptionParser parser = verb.options();
    std::string table, places;
    for (const OptionInfo& option : parser.options()) {
      for (const std::string& name : spellings_of(option))
        table += (table.empty() ? "" : " ") + name + "=" + (option.placeholder.empty() ? "flag" : kind_word(option));
    }
    for (const OptionInfo& argument : parser.positionals()) places += (places.empty() ? "" : " ") + kind_word(argument);
    names += (names.empty() ? "" : " ") + parser.verb();
    cases += "    " + parser.verb() + ")\n      places='" + places + "'\n      table='" + table + "' ;;\n";
  }
  return std::string(kHead) + "  local verbs='" + names + "' devices='" + kOfferedDevices + "' sources='" + kOfferedSources +
         "' places='' table=''\n  case ${words[1]-} in\n" + cases + "  esac\n" + kTail;
}

}  // namespace sheaf
