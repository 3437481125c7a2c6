// Text from outside as a terminal may show it: what would steer the terminal is written out.

const steering = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Line ends and tabs stay. */
export const escapeForTerminal = (text: string): string =>
  text.replace(steering, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

export const escapeInLine = (text: string): string =>
  escapeForTerminal(text).replaceAll('\n', ' ').replaceAll('\t', ' ')
