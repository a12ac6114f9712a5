#!/bin/sh
':' /* The shell reads this comment as a program, and Node starts after it.
# Node resets ignored signals, so the shell looks whether "nohup" has set SIGHUP to ignored: the lowest bit of SigIgn.
unset DISTRIBUTE_LOCK_IGNORES_HUP
if [ -r /proc/$$/status ]; then
  while read -r name bits; do
    case "$name $bits" in
      (SigIgn:?*[13579bdf]) export DISTRIBUTE_LOCK_IGNORES_HUP=1; break ;;
      (SigIgn:*) break ;;
    esac
  done </proc/$$/status
elif sh -c 'kill -HUP $$'; then
  export DISTRIBUTE_LOCK_IGNORES_HUP=1
fi
exec node "$0" "$@"
*/
