#compdef svc-gateway
# Completes svc-gateway in zsh. To try it: source <(svc-gateway completion zsh)
_svc_gateway() {
  local line value
  local -a candidates
  for line in "${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
    if [[ $line == :files ]]; then
      _files
    elif [[ -n $line ]]; then
      value=${line%%$'\t'*}
      candidates+=("${value//:/\\:}:${line#*$'\t'}")
    fi
  done
  (( ${#candidates} )) && _describe svc-gateway candidates
}
if [[ $funcstack[1] == _svc_gateway ]]; then
  _svc_gateway "$@"
else
  compdef _svc_gateway svc-gateway
fi
