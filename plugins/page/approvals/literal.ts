// Writes the arguments of a call so that the reader sees each character of them.

/** What is not visible, or changes how the text around it looks: controls, marks of direction, joiners, spaces. */
const misleading = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu

/** Returns the JSON of a value, indented; all that could mislead is escaped. */
export const toLiteral = (value: unknown): string =>
  (JSON.stringify(value, null, 2) ?? '').replaceAll(misleading, (found) => (found === '\n' ? found : escape(found)))

const escape = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => {
    const unit = character.charCodeAt(index).toString(16).padStart(4, '0')
    return String.raw`\u${unit}`
  }).join('')
