# Completes svc-gateway in bash. To try it: source <(svc-gateway completion bash)
_svc_gateway() {
  local line=${COMP_LINE:0:COMP_POINT} word prefix
  local -a words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  word=${words[${#words[@]} - 1]}
  prefix=${word%"${word##*[:=]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o default 2> /dev/null
    else
      line=${line%%$'\t'*}
      COMPREPLY+=("${line#"$prefix"}")
    fi
  done < <("${words[0]}" complete -- "${words[@]:1}" 2> /dev/null)
}
complete -F _svc_gateway svc-gateway
