// Writes a text as one word of a shell command, for commands that are printed to be copied.

export const quoteWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
