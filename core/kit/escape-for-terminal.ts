// Escapes control characters in text from outside, so that it cannot affect the terminal.

const controlCharacters = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Escapes control characters and characters that change the direction of text. Keeps line breaks and tabs. */
export const escapeForTerminal = (text: string): string =>
  text.replace(controlCharacters, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** The same for a text on one line: line breaks and tabs become spaces. */
export const escapeInLine = (text: string): string =>
  escapeForTerminal(text).replaceAll('\n', ' ').replaceAll('\t', ' ')
