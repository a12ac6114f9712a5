#!/usr/bin/env sh
':' /* The shell reads this comment as a program, and Node starts after it.
# Node resets ignored signals, so the shell looks whether "nohup" has set SIGHUP to ignored: the lowest bit of SigIgn.
unset DISTRIBUTE_LOCK_IGNORES_HUP DISTRIBUTE_LOCK_ENVIRON DISTRIBUTE_LOCK_CERTIFICATES
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
# Some shells drop variables with names such as INPUT_NODE-VERSION.
if LC_ALL=C grep -qazE '^([0-9]|[A-Za-z0-9_]*[^A-Za-z0-9_=])[^=]*=' /proc/$$/environ 2>/dev/null; then
  environ=$(od -An -v -tx1 </proc/$$/environ | tr -d ' \n')
  [ ${#environ} -gt 100000 ] || export DISTRIBUTE_LOCK_ENVIRON="$environ"
fi
# Node 20 reads these certificates at each start, for up to 0.1 s. Only a connection with TLS needs them.
case " ${REDIS_URL-} $*" in
  (*rediss*) ;;
  (*) [ -z "${NODE_EXTRA_CA_CERTS-}" ] || export DISTRIBUTE_LOCK_CERTIFICATES="$NODE_EXTRA_CA_CERTS"; unset NODE_EXTRA_CA_CERTS ;;
esac
exec node "$0" "$@"
*/
