// Cleans the text of a server: bounded, and without invisible characters.

/** Invisible characters other than line ends and tabs: they can hide words from people that a model reads. */
const unseen = /[[\p{Z}\p{C}]--[ \n\t]]/gv

export function cleanText(text: string, longest: number): string {
  const seen = text
    .slice(0, longest * 4)
    .replace(unseen, ' ')
    .trim()
  return seen.length > longest ? `${seen.slice(0, longest - 1)}…` : seen
}
