#!/bin/sh
# Runs a compiler through ccache such that a build in another folder is served, too: paths below the checkout count as
# relative, and a precompiled header as what went into it. CMakePresets.json names this script as the launcher.
root=$(cd "$(dirname "$0")/.." && pwd)

case " $* " in
  *" -emit-pch "*) ;;
  *)
    export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content CCACHE_PCH_EXTSUM=1
    export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    exec ccache "$@"
    ;;
esac

# A precompiled header holds absolute paths, so it is made in each folder. Beside it goes a sum of the options and of every
# header in it, which ccache reads in its place (CCACHE_PCH_EXTSUM).
"$@" || exit
header='' depfile='' previous=''
for argument; do
  case $previous in
    -o) header=$argument ;;
    -MF) depfile=$argument ;;
  esac
  previous=$argument
done
{
  printf '%s\n' "$@"
  sed 's/^[^:]*: //; s/\\$//' "$depfile" | tr -s ' ' '\n' | sed '/^$/d' | xargs cat
} | sed "s|$root||g" | sha256sum >"$header.sum"
