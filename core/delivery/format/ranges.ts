// The format `ranges`: a text without marks, and beside it where each style begins and how long it is.
import type { TextRange } from '../../plugin/plugin.ts'
import type { Style } from './style.ts'
import type { Mark } from './styled-text.ts'

const rangeOf = (range: TextRange['style']): Mark => ({ open: '', close: '', range })

export const ranges: Style = {
  bold: rangeOf('bold'),
  italic: rangeOf('italic'),
  strike: rangeOf('strike'),
  code: rangeOf('code'),
  block: { ...rangeOf('code'), isBlock: true },
  link: () => undefined,
  escape: (text) => text,
  finish: (spans) => spans,
}
