// Text from outside for the messages of agents: bounded, and without characters that change how the rest is read.

type Optional = string | false | null | undefined

/**
 * Characters that no reader sees and that change what a reader sees: control characters, marks that change the
 * direction of text, and invisible ones that hide words or split them. Emoji need the joiners U+200C and U+200D.
 * Without line breaks and tabs, of which a text has many: to remove a character is much faster than to decide on each.
 */
const hidden =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu

const clean = (text: string | null | undefined): string =>
  (text ?? '').replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, '\n').replaceAll(hidden, '')

/** Whether a text has line breaks, or characters that `line` removes. */
export const hasHiddenCharacters = (text: string): boolean =>
  /[\t\n\u2028\u2029]/.test(text) || text.search(hidden) >= 0

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length).toWellFormed()} …` : text

/**
 * Trims a text of several lines, removes control and direction characters, and cuts it to at most `length` characters.
 * `null` and `undefined` give an empty text.
 */
export const clip = (text: string | null | undefined, length = 2000): string => cut(clean(text).trim(), length)

/**
 * Puts a text on one line of at most `length` characters, without control and direction characters. Use it for every
 * name, title and value that a sender chooses: a title with line breaks could otherwise add lines that look like facts.
 * `null` and `undefined` give an empty text.
 */
export const line = (text: string | null | undefined, length = 300): string =>
  cut(clean(text).replaceAll(/\s+/g, ' ').trim(), length)

/** Puts a text on one line like `line`, and quotes it. A blank text stays empty, without quotes. */
export function quote(text: string | null | undefined, length = 300): string {
  const shortened = line(text, length)
  return shortened && `"${shortened.replaceAll('"', "'")}"`
}

/** Joins the lines of a message. Leaves out `undefined`, `null`, `false` and blank lines. */
export const lines = (...parts: readonly Optional[]): string =>
  parts.filter((part) => part && part.trim() !== '').join('\n')

/** Joins the words of a sentence with one space each. Leaves out `undefined`, `null`, `false` and empty texts. */
export const words = (...parts: readonly Optional[]): string => parts.filter(Boolean).join(' ')
