// Splits a shell script into commands and words as POSIX shells and bash quote them. Nothing is expanded or executed.
import { InputError } from '../../plugin/errors.ts'

/** What is at a place of the script: `text` is added to the word there; without it, the word ends. */
const tokens: readonly (readonly [pattern: RegExp, text?: (found: string) => string])[] = [
  [/\\\r?\n()|\\$()/y, () => ''],
  [/([ \t\r\n;&|<>()])/y],
  [/'([^']*)'/y, (inner) => inner],
  [/\$'((?:\\[^]|[^'\\])*)'/y, unescapeAnsi],
  [/"((?:\\[^]|[^"\\])*)"/y, (inner) => refuseSubstitution(inner).replaceAll(/\\(?:\r?\n|(["\\$`]))/g, '$1')],
  [/\\([^])/y, (character) => character],
  [/(\$\(|[^\s\\'";&|<>()$]+|\$)/y, refuseSubstitution],
]

/** The words of each command, without comments. Variables stay as they are written. */
export function splitCommands(script: string): string[][] {
  const commands: string[][] = [[]]
  let word: string | undefined
  for (let at = 0; at < script.length;) {
    // A `#` begins a comment where a word could begin.
    if (word === undefined && script[at] === '#')
      at = (script.indexOf('\n', at) + script.length + 1) % (script.length + 1)
    if (at >= script.length) break
    const { found, text } = readToken(script, at)
    at += found[0].length
    if (text) word = (word ?? '') + text(found[1] ?? '')
    else {
      if (word !== undefined) commands.at(-1)?.push(word)
      word = undefined
      if (!/[ \t\r]/.test(found[0])) commands.push([])
    }
  }
  if (word !== undefined) commands.at(-1)?.push(word)
  return commands.filter(({ length }) => length > 0)
}

function readToken(script: string, at: number) {
  for (const [pattern, text] of tokens) {
    pattern.lastIndex = at
    const found = pattern.exec(script)
    if (found) return { found, text }
  }
  const line = script.slice(0, at).split('\n').length
  throw new InputError(`The command has a quotation mark in line ${line} that is not closed; close it.`)
}

/** What a command would print is not known without running it. */
function refuseSubstitution(text: string): string {
  if (!/(?<!\\)(?:`|\$\()/.test(text)) return text
  throw new InputError('The command contains a command substitution, which is not run; replace it with its text.')
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' }

/** `$'…'` of bash. */
function unescapeAnsi(text: string): string {
  return text.replaceAll(
    /\\(?:u([\da-f]{1,4})|U([\da-f]{1,8})|x([\da-f]{1,2})|([0-7]{1,3})|([^]))/gi,
    (_all, ...[short, long, hex, octal, other = '']: (string | undefined)[]) => {
      const code = short ?? long ?? hex
      if (code !== undefined) return String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0x10ffff))
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8))
      return escapes[other] ?? other
    },
  )
}
