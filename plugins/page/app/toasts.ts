// Short messages at the edge of the page: what an action did, or why it failed.
import { type ReadonlySignal, signal } from '@preact/signals'

export interface Toast {
  id: number
  text: string
  tone: 'good' | 'bad'
  /** A link to what the action has made. */
  link?: { href: string; text: string }
}

export interface Toasts {
  items: ReadonlySignal<readonly Toast[]>
  show(toast: Omit<Toast, 'id'>): void
  remove(id: number): void
}

const shownMs = { good: 6_000, bad: 12_000 } as const
const maxShown = 4

export function createToasts(): Toasts {
  const items = signal<readonly Toast[]>([])
  let nextId = 1
  const remove = (id: number): void => void (items.value = items.peek().filter((toast) => toast.id !== id))
  return {
    items,
    remove,
    show: (toast) => {
      const id = nextId++
      items.value = [...items.peek(), { ...toast, id }].slice(-maxShown)
      setTimeout(() => remove(id), shownMs[toast.tone])
    },
  }
}
