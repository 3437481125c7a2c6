// Keyboard shortcuts: single keys such as `/`, and sequences such as `g r`.
export interface Shortcut {
  /** Keys that are pressed one after the other, separated by spaces. */
  keys: string
  /** What it does, for the list of shortcuts. */
  name: string
  run(): void
}

export interface Keys {
  /** Adds a shortcut. Returns a function that removes it. Of two with the same keys, the newer one runs. */
  add(shortcut: Shortcut): () => void
  list(): readonly Shortcut[]
}

/** How long the second key of a sequence may take. */
const sequenceMs = 1_500

export function createKeys(host: Document): Keys {
  const shortcuts: Shortcut[] = []
  let first: string | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  host.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
    if (isTyping(event.composedPath()[0]) || host.querySelector('dialog[open]')) return
    const pressed = first === undefined ? event.key : `${first} ${event.key}`
    const shortcut = shortcuts.findLast(({ keys }) => keys === pressed)
    clearTimeout(timer)
    first = undefined
    if (shortcut) {
      event.preventDefault()
      shortcut.run()
    } else if (shortcuts.some(({ keys }) => keys.startsWith(`${event.key} `))) {
      first = event.key
      timer = setTimeout(() => void (first = undefined), sequenceMs)
    }
  })

  return {
    list: () => shortcuts,
    add: (shortcut) => {
      shortcuts.push(shortcut)
      return () => void shortcuts.splice(shortcuts.indexOf(shortcut), 1)
    },
  }
}

/** Letters that are typed into a field are no shortcuts. The editor is in a shadow root, which hides the target. */
const isTyping = (target: EventTarget | undefined): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
