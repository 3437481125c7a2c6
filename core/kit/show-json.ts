// Shows texts of strangers to an approver so that they look like what they are: what could mislead is escaped as in
// JSON, so the shown text is still the JSON of what runs.

/** Right-to-left scripts: even without marks, their letters change the order in which their neighbours are shown. */
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFF\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u
/** Letters, digits, emoji and currencies. */
const shownKinds = /[\p{L}\p{N}\p{Extended_Pictographic}\p{Sc}]/u
/** Letters that are shown as nothing, or change others. */
const hiddenKinds = /[\p{Lm}\p{Default_Ignorable_Code_Point}]/u
/** Scripts with letters that look like those of ASCII. */
const lookAlike =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}\p{Script=Coptic}]/u

const unitEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
/** UTF-16 code units, as in JSON. */
const escapeAll = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => unitEscape(character[at] as string)).join('')

/** A backtick could end a block of code, and some platforms read marks such as `<!channel>` even inside one. */
const markup: ReadonlySet<string> = new Set(['`', '<'])

/** A character and how it is shown. An escape is never divided. */
type Atom = string

/**
 * The parts of a JSON text, or of any other text without line breaks that matter, as they are shown. Escaped are control
 * characters, marks, everything right-to-left, backticks and `<`, further spaces in a row,
 * punctuation beyond ASCII, compatibility forms such as full-width letters, and letters that look like ASCII beside
 * those of ASCII.
 */
function toAtoms(text: string): Atom[] {
  const atoms: Atom[] = []
  for (const [part] of text.matchAll(/[\p{L}\p{M}\p{N}_]+|\\.|[^]/gu)) {
    const isMixed = /[a-z]/i.test(part) && part.length > 1 && lookAlike.test(part)
    if (part.startsWith('\\') && part.length === 2) atoms.push(part)
    else for (const character of part) atoms.push(showCharacter(character, { isMixed, before: atoms.at(-1) }))
  }
  return atoms
}

function showCharacter(character: string, { isMixed, before }: { isMixed: boolean; before: Atom | undefined }): Atom {
  if (character === ' ') return before === ' ' || before === undefined ? escapeAll(character) : character
  if (markup.has(character)) return escapeAll(character)
  if (/^[\x20-\x7E]$/.test(character)) return character
  const isShown =
    shownKinds.test(character) &&
    !hiddenKinds.test(character) &&
    !rightToLeft.test(character) &&
    character.normalize('NFKC') === character &&
    !(isMixed && lookAlike.test(character))
  return isShown ? character : escapeAll(character)
}

/** A text in one line: at most so many characters, and then how many there are. */
export function showText(text: string, maxLength = 200): string {
  const shown = toAtoms(JSON.stringify(text).slice(1, -1))
  if (shown.join('').length <= maxLength) return shown.join('')
  let cut = ''
  for (const atom of shown) {
    if (cut.length + atom.length > maxLength) break
    cut += atom
  }
  return `${cut} [cut: ${text.length} characters in all]`
}

/** Narrow screens wrap longer lines. */
const lineLength = 60

/** The arguments of a call as lines. Joined, they are the JSON of what runs. No line begins or ends with a space. */
export function showArgs(json: string): string[] {
  const lines: string[] = []
  let line = ''
  for (const atom of toAtoms(json)) {
    const isFull = line.length + atom.length > lineLength
    if (isFull) lines.push(line)
    line = (isFull ? '' : line) + atom
  }
  // A space at the edge of a message would get lost.
  return [...lines, line].map((one) => one.replaceAll(/^ | $/g, escapeAll))
}
