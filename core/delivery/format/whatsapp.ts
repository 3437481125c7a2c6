// The format `whatsapp`: which marks it has.
import { endMarksAtLines } from './styled-text.ts'
import { markOf, type Style } from './style.ts'

export const whatsapp: Style = {
  bold: markOf('*'),
  italic: markOf('_'),
  strike: markOf('~'),
  code: markOf('`'),
  block: { ...markOf('```\n', '\n```'), isBlock: true },
  link: () => undefined,
  escape: (text) => text,
  // WhatsApp shows a mark as a character if the other one is on another line.
  finish: endMarksAtLines,
}
