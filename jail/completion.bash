# bash completion for @PROGRAM@; made by jail/mkcompletion
# shellcheck shell=bash

_@FUNCTION@()
{
	local program=@PROGRAM@ cur=${COMP_WORDS[COMP_CWORD]} before='' option='' command=. spec='' form='' kind='' i word name
	local -a words=()
	# by command: options, as --name, --name=VALUE and, where the value may lack, --name?VALUE; and what
	# stands behind them. A value is a letter (f files, d folders, t transcripts, - nothing) and words
	local -A options=(
@OPTIONS@
	)
	local -A operands=(
@OPERANDS@
	)
	COMPREPLY=()
	((COMP_CWORD > 0)) && before=${COMP_WORDS[COMP_CWORD - 1]}
	# --name=value is three words where COMP_WORDBREAKS has =
	if [[ $cur == = ]]; then
		option=$before cur='' form='='
	elif [[ $before == = ]] && ((COMP_CWORD > 2)); then
		option=${COMP_WORDS[COMP_CWORD - 2]} form='='
	elif [[ $cur == --*=* ]]; then
		option=${cur%%=*} cur=${cur#*=} form=attached
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ $word == -- ]]; then
			command=--
			break
		elif [[ $word == = ]]; then
			((i++))
		elif [[ $word == -* ]]; then
			[[ ${COMP_WORDS[i + 1]} != = && " ${options[$command]} " == *" $word="* ]] && ((i++))
		elif [[ $command == . && -n ${operands[$word]} ]]; then
			command=$word
		elif [[ -n ${operands[$command $word]} ]]; then
			command+=" $word"
		elif [[ $program,$command == stepjail,run ]]; then
			command=-- # of the jail's program
			break
		fi
	done
	if [[ $command == -- && -z ${options[--]} ]]; then
		spec=f
	elif [[ $before == : || $cur == : ]]; then
		[[ $cur == : ]] && cur=''
		spec=f # of SRC:DST, or scripted:FILE
	else
		[[ -z $form && " ${options[$command]} " == *" $before="* ]] && option=$before form=' '
		if [[ -n $option ]]; then
			for word in ${options[$command]}; do
				[[ $word == "$option="* || ($word == "$option?"* && $form != ' ') ]] && spec=${word:${#option}+1}
			done
		elif [[ $cur == -* ]]; then
			for word in ${options[$command]}; do
				name=${word%%[=?]*}
				words+=("$name")
				[[ $word == "$name?"* ]] && words+=("$name=")
			done
			spec=-
		else
			spec=${operands[$command]}
		fi
	fi
	[[ -n $spec ]] || return
	kind=${spec%%,*} cur=${cur//\\/}
	# shellcheck disable=SC2088
	[[ $cur == '~/'* ]] && cur=$HOME${cur:1}
	if [[ $spec == *,* ]]; then
		IFS=, read -r -a words <<<"${spec#*,}"
	fi
	for word in "${words[@]}"; do
		[[ $word == "$cur"* ]] && COMPREPLY+=("$word")
	done
	if [[ $kind == t ]]; then
		for word in "${XDG_STATE_HOME:-$HOME/.local/state}/stepjail/transcripts/$cur"*.jsonl; do
			[[ -f $word ]] && COMPREPLY+=("${word##*/}")
		done
		kind=f
	fi
	if [[ $kind == [fd] ]]; then
		compopt -o filenames 2>/dev/null
		mapfile -t words < <(compgen "-$kind" -- "$cur")
		COMPREPLY+=("${words[@]}")
	fi
	# a word that more follows on
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:=] ]] && compopt -o nospace 2>/dev/null
	[[ $form == attached ]] && COMPREPLY=("${COMPREPLY[@]/#/$option=}")
	return 0
}
complete -F _@FUNCTION@ @PROGRAM@
