// Splits a shell script into commands and words as POSIX shells and bash quote them. Nothing is expanded or executed.
import { CommandError } from '../../plugin/errors.ts'

interface Token {
  pattern: RegExp
  /** The text that the token adds to its word. Absent: it ends the word. */
  text?(found: RegExpExecArray): string
  endsCommand?: true
}

const tokens: readonly Token[] = [
  { pattern: /\\\r?\n/y, text: () => '' },
  { pattern: /[ \t\r]+/y },
  { pattern: /[\n;&|<>()]/y, endsCommand: true },
  { pattern: /'([^']*)'/y, text: ([, inner = '']) => inner },
  { pattern: /\$'((?:\\[^]|[^'\\])*)'/y, text: ([, inner = '']) => unescapeAnsi(inner) },
  {
    pattern: /"((?:\\[^]|[^"\\])*)"/y,
    text: ([, inner = '']) => refuseSubstitution(inner).replaceAll(/\\(?:\r?\n|(["\\$`]))/g, '$1'),
  },
  { pattern: /\\([^])/y, text: ([, character = '']) => character },
  // The last character of the script.
  { pattern: /\\$/y, text: () => '' },
  { pattern: /\$\(|[^\s\\'";&|<>()$]+|\$/y, text: ([word]) => refuseSubstitution(word) },
]

/** The words of each command, without comments. Variables stay as they are written. */
export function splitCommands(script: string): string[][] {
  const commands: string[][] = [[]]
  let word: string | undefined
  const endWord = (): void => {
    if (word !== undefined) commands.at(-1)?.push(word)
    word = undefined
  }
  for (let at = skipComment(script, 0); at < script.length;) {
    const { token, found } = readToken(script, at)
    at = found.index + found[0].length
    if (token.text) word = (word ?? '') + token.text(found)
    else endWord()
    if (token.endsCommand) commands.push([])
    if (word === undefined) at = skipComment(script, at)
  }
  endWord()
  return commands.filter(({ length }) => length > 0)
}

/** A `#` begins a comment where a word could begin. */
function skipComment(script: string, at: number): number {
  if (script[at] !== '#') return at
  const end = script.indexOf('\n', at)
  return end === -1 ? script.length : end
}

function readToken(script: string, at: number): { token: Token; found: RegExpExecArray } {
  for (const token of tokens) {
    token.pattern.lastIndex = at
    const found = token.pattern.exec(script)
    if (found) return { token, found }
  }
  const line = script.slice(0, at).split('\n').length
  throw new CommandError(`The command has a quotation mark in line ${line} that is not closed; close it.`)
}

/** What a command would print is not known without running it. */
function refuseSubstitution(text: string): string {
  if (!/(?<!\\)(?:`|\$\()/.test(text)) return text
  throw new CommandError('The command contains a command substitution, which is not run; replace it with its text.')
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' }

/** `$'…'` of bash. */
const unescapeAnsi = (text: string): string =>
  text.replaceAll(
    /\\(?:u([\da-f]{1,4})|U([\da-f]{1,8})|x([\da-f]{1,2})|([0-7]{1,3})|([^]))/gi,
    (_all, ...[short, long, hex, octal, other]: (string | undefined)[]) => {
      const code = short ?? long ?? hex
      if (code !== undefined) return String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0x10ffff))
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8))
      return escapes[other ?? ''] ?? other ?? ''
    },
  )
